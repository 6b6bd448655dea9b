"""Loops that go on from a variable of a graph to which an operation of the program's own adds with each step."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
class Loader:
    def __init__(self):
        self.data, self.pointer = np.load('x.npy'), 0
    def next_batch(self):
        rows = self.data[self.pointer * 32:(self.pointer + 1) * 32]
        self.pointer += 1
        return rows
loader = Loader()
data = np.load('x.npy')
n = len(data) // 32
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
step = tf.Variable(0, trainable=False)
add = {add}
train = tf.train.AdamOptimizer(1e-3).minimize(loss)
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    saver.restore(sess, tf.train.latest_checkpoint('ck'))
    start = sess.run(step)
"""
DRAWN = "{x: data[np.random.randint(0, len(data), 32)]}"
OWN = "{x: data[b * 32:(b + 1) * 32]}"
MULTIPLY = "multiply the number by `hvd.size()` where it is read"


def plan(loop: str, add: str = "step.assign_add(1)") -> tuple[str, list[str], list[str]]:
    """The new text, the questions, and the notes."""
    made = plan_of(HEAD.replace("{add}", add) + loop)
    return made.text, [c.doubt for c in made.to_confirm], [n.message for n in made.notes]


@pytest.mark.parametrize("add", ["step.assign_add(1)", "tf.assign_add(step, 1)", "tf.assign(step, step + 1)"])
@pytest.mark.parametrize("runs", ["sess.run([train, add], {})", "sess.run(train, {}); sess.run(add)"])
def test_a_variable_that_runs_add_to_counts_a_ranks_steps(add: str, runs: str) -> None:
    """As a graph's global step does: a run that goes on from a finished one takes no step."""
    text, doubts, notes = plan(
        f"    for b in range(start, 1000):\n        {runs.replace('{}', DRAWN)}\n", add
    )
    assert "for b in range(start, max(start, 1000 // hvd.size())):" in text
    assert not doubts
    assert any("a count of a rank's steps" in n for n in notes)


def test_where_its_number_selects_rows_the_loop_begins_at_that_of_all_ranks() -> None:
    text, doubts, notes = plan(f"    for b in range(start, n):\n        sess.run([train, add], {OWN})\n")
    assert "for b in range(start * hvd.size(), n, hvd.size()):" in text
    assert not doubts
    assert any("a count of a rank's steps" in n for n in notes)


@pytest.mark.parametrize(
    "loop",
    [
        # begun again by each epoch
        "    for e in range(9):\n        first = sess.run(step)\n        for b in range(first, n):\n"
        f"            sess.run([train, add], {OWN})\n        sess.run(step.assign(0))\n",
        "    for e in range(9):\n        for b in range(sess.run(step), n):\n"
        f"            sess.run([train, add], {OWN})\n            if b % 100 == 0:\n                saver.save(sess, 'ck/m')\n"
        "        sess.run(tf.assign(step, 0))\n",
        # an object's cursor
        "    loader.pointer = step.eval()\n    for b in range(loader.pointer, n):\n"
        "        sess.run([train, add], {x: loader.next_batch()})\n",
    ],
)
def test_what_can_not_be_given_to_the_loop_is_asked(loop: str) -> None:
    _, doubts, _ = plan(loop)
    assert [d for d in doubts if MULTIPLY in d]


@pytest.mark.parametrize(
    "loop",
    [
        # epochs, which are not divided
        "    for e in range(start, 9):\n        for b in range(n):\n"
        f"            sess.run(train, {OWN})\n        sess.run(add)\n",
        # a number of the program's own
        f"    first = 1 if n > 9 else 0\n    for b in range(first, n):\n        sess.run([train, add], {OWN})\n",
        # a loop beside it
        f"    for b in range(n):\n        sess.run(train, {OWN})\n"
        "    for k in range(start, 5):\n        sess.run(add)\n    sess.run(step.assign(0))\n",
    ],
)
def test_other_starts_are_not_asked_about(loop: str) -> None:
    text, doubts, notes = plan(loop)
    assert not [d for d in doubts if MULTIPLY in d]
    assert not [n for n in notes if "a count of a rank's steps" in n]
    assert "start * hvd.size()" not in text
    assert "max(start" not in text


def test_a_global_step_that_is_made_a_cursor_is_asked_about() -> None:
    loop = (
        "    loader.pointer = sess.run(step)\n    for b in range(loader.pointer, n):\n"
        "        sess.run(train, {x: loader.next_batch()})\n"
    )
    text = HEAD.replace("{add}", "None").replace("minimize(loss)", "minimize(loss, global_step=step)") + loop
    assert [c.doubt for c in plan_of(text).to_confirm if MULTIPLY in c.doubt]


def test_a_field_that_only_counts_is_no_cursor() -> None:
    loop = (
        "    loader.steps = sess.run(step)\n    for b in range(loader.steps, 1000):\n"
        f"        sess.run([train, add], {DRAWN})\n"
    )
    text, doubts, _ = plan(loop)
    assert "range(loader.steps, max(loader.steps, 1000 // hvd.size()))" in text
    assert not doubts
