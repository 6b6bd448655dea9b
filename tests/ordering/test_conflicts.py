"""What is read of scripts: the conflicts of their runs, and what is silent because it can't be proven or is in order."""

from __future__ import annotations

import pytest

from horovodize.facts import facts_of
from horovodize.ordering.conflicts import Conflict, Conflicts, Kind
from horovodize.source import Document
from horovodize.summary import summarize

START = """\
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
v = tf.Variable(0.0)
w = tf.Variable(1.0)
x = tf.placeholder(tf.float32)
session = tf.Session()
"""


def conflicts(text: str) -> list[Conflict]:
    return Conflicts(facts_of(summarize(Document(START + text, "train.py")))).all


CONFLICTS = {
    "two assignments": ("session.run([v.assign(1.0), tf.assign(v, 2.0)])", Kind.ASSIGNED_TWICE),
    "behind names and a dict": (
        "a = v.assign(1.0)\nb = v.assign(x)\nsession.run({'a': a, 'b': [b]})",
        Kind.ASSIGNED_TWICE,
    ),
    "in a group": (
        "both = tf.group(v.assign(1.0), v.assign(2.0))\nboth.run()\nsession.run(both)",
        Kind.ASSIGNED_TWICE,
    ),
    "assigned and added to": ("session.run([v.assign(1.0), v.assign_add(2.0)])", Kind.ASSIGNED_TWICE),
    "rows of one": ("session.run([tf.scatter_update(v, [0], x), v.assign(2.0)])", Kind.ASSIGNED_TWICE),
    "by another name": ("u = v\nsession.run([u.assign(1.0), v.assign(2.0)])", Kind.ASSIGNED_TWICE),
    "read for what is fetched": ("y = tf.exp(v)\nsession.run([y, v.assign(2.0)])", Kind.READ_AND_ASSIGNED),
    "read for what is assigned": ("session.run([w.assign(v), v.assign(2.0)])", Kind.READ_AND_ASSIGNED),
    "the value that an assignment gives": (
        "y = v.assign(1.0) + 1.0\nwith tf.control_dependencies([y]):\n    z = tf.no_op()\n"
        "session.run([y, v.assign_add(2.0)])",
        Kind.ASSIGNED_TWICE,
    ),
    "a counter": ("session.run([v, v.assign_add(1.0)])", Kind.READ_AND_COUNTED),
    "in methods of one object": (
        """\
class Model:
    def __init__(self):
        self.v = tf.Variable(0.0)
        self.low, self.high = self.v.assign(1.0), self.v.assign(2.0)

    def reset(self, session):
        session.run([self.low, self.high])

one, two = Model(), Model()
""",
        Kind.ASSIGNED_TWICE,
    ),
    "each of a collection": (
        """\
ours = [u for u in tf.trainable_variables() if "d_" in u.name]
train = tf.train.AdamOptimizer(0.1).minimize(network(x), var_list=ours)
clips = [u.assign(tf.clip_by_value(u, -1.0, 1.0)) for u in ours]
session.run([train, clips])
""",
        Kind.TRAINED_AND_ASSIGNED,
    ),
    "what a loss is computed of": (
        "train = tf.train.AdamOptimizer(0.1).minimize(tf.square(w - x))\nsession.run([train, w.assign(1.0)])",
        Kind.TRAINED_AND_ASSIGNED,
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_conflict_is_found(name: str) -> None:
    text, kind = CONFLICTS[name]
    assert kind in [c.kind for c in conflicts(text)]


SILENT = {
    "separate runs": "session.run(v.assign(1.0))\nsession.run(v.assign(2.0))",
    "two variables": "session.run([v.assign(1.0), w.assign(2.0)])",
    "additions": "session.run([v.assign_add(1.0), v.assign_sub(2.0)])",
    "one operation twice": "a = v.assign(1.0)\nsession.run([a, a])",
    "one value twice": "session.run([v.assign(1.0), v.assign(1.0)])",
    "control edges": "a = v.assign(1.0)\nwith tf.control_dependencies([a]):\n    b = v.assign(2.0)\nsession.run([a, b])",
    "control edges on the way": (
        "a = v.assign(1.0)\nwith tf.control_dependencies([a]):\n    n = tf.no_op()\n"
        "with tf.control_dependencies([n]):\n    b = v.assign(2.0)\nsession.run([a, b])"
    ),
    "control edges around a call": (
        "def set_to(value):\n    return v.assign(value)\n\na = v.assign(1.0)\n"
        "with tf.control_dependencies([a]):\n    b = set_to(2.0)\nsession.run([a, b])"
    ),
    "control edges that can't be seen": (
        "a = v.assign(1.0)\nwith tf.control_dependencies(waits_for(a)):\n    b = v.assign(2.0)\nsession.run([a, b])"
    ),
    "a context that isn't known": "a = v.assign(1.0)\nwith after(a):\n    b = v.assign(2.0)\nsession.run([a, b])",
    "a value that orders": "a = v.assign(1.0)\nb = v.assign(a + 1.0)\nsession.run([a, b])",
    "a value that orders, unseen": "a = v.assign(1.0)\nb = v.assign(make(a))\nsession.run([a, b])",
    "a read that the assignment needs": "y = v * 2.0\nsession.run([y, v.assign(y)])",
    "a loss and its train op": (
        "loss = tf.square(w - x)\ntrain = tf.train.AdamOptimizer(0.1).minimize(loss)\nsession.run([train, loss])"
    ),
    "what isn't trained": (
        "loss = tf.square(w - tf.stop_gradient(v))\ntrain = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
        "session.run([train, v])"
    ),
    "a function that makes several": (
        "def made(value):\n    u = tf.Variable(0.0)\n    return u.assign(value)\n\nsession.run([made(1.0), made(2.0)])"
    ),
    "made in a loop": (
        "for i in range(2):\n    u = tf.Variable(0.0)\n    a, b = u.assign(1.0), u.assign(2.0)\nsession.run([a, b])"
    ),
    "one or the other": "a = v.assign(1.0) if flag else v.assign(2.0)\nsession.run([a, w])",
    "what a session runs isn't known": "session.run(operations)",
    "no session": "runner.run([v.assign(1.0), v.assign(2.0)])",
    "a collection that isn't known": "session.run([[u.assign(1.0) for u in ours], [u.assign(2.0) for u in theirs]])",
    "two objects": (
        "class Model:\n    def __init__(self, value):\n        self.v = tf.Variable(0.0)\n"
        "        self.set = self.v.assign(value)\n\n"
        "one, two = Model(1.0), Model(2.0)\nsession.run([one.set, two.set])"
    ),
    "a name that is set from itself": "v = v + 1.0\nwhile True:\n    v = v * 2.0\n    session.run([v, w.assign(v)])",
}


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_found(name: str) -> None:
    assert conflicts(SILENT[name]) == []


@pytest.mark.parametrize("first", ["", "tf.enable_eager_execution()\n", "tape = tf.GradientTape()\n"])
def test_what_runs_at_once_has_an_order(first: str) -> None:
    found = conflicts(f"{first}session.run([v.assign(1.0), v.assign(2.0)])")
    assert bool(found) == (first == "")


def test_the_two_outcomes_are_those_of_the_two_orders() -> None:
    (assigned,) = conflicts("a = v.assign(1.0)\nb = v.assign(2.0)\nsession.run([b, a])")
    assert assigned.ends == (2.0, 1.0)
    (added,) = conflicts("session.run([v.assign(10.0), v.assign_add(1.0)])")
    assert added.ends == (11.0, 10.0)


def test_each_pair_is_found_once() -> None:
    run = "session.run([a, b])\n"
    assert len(conflicts(f"a, b = v.assign(1.0), v.assign(2.0)\n{run}{run}")) == 1


def test_a_very_large_run_ends() -> None:
    many = "y = v\n" + "".join(f"y{i} = {'y' if i == 0 else f'y{i - 1}'} * 2.0\n" for i in range(300))
    assert conflicts(f"{many}session.run([y299, v.assign(1.0)])") == []
    several = ", ".join(f"v.assign({i}.0)" for i in range(40))
    assert conflicts(f"session.run([{several}])") == []
