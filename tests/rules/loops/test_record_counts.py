"""Counts in records that are replaced as a whole: the facts about counters, and what G4, G5, G6 and C5 make of them."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import collections, dataclasses, os, pickle
from typing import NamedTuple
import tensorflow as tf
{kind}
ds = tf.data.Dataset.from_tensor_slices(tf.random.stateless_normal((480, 5), (3, 4))).shuffle(400).repeat().batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.SGD(0.1)
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
{begins}
for x in ds.take({take}):
    {counts}
    if {read} == 60:
        opt.learning_rate = 0.01
    if {read} % 50 == 0:
        model.save_weights("w")
    opt.learning_rate = 0.1 * 0.5 ** ({read} / 40)
"""
TUPLE = "class State(NamedTuple):\n    step: int = 0\n    best: float = 1e9"
DATA = "@dataclasses.dataclass(frozen=True)\nclass State:\n    step: int\n    best: float = 1e9"
NAMED = 'State = collections.namedtuple("State", "step best")'
METHOD = "class State(NamedTuple):\n    step: int = 0\n    def next(self):\n        return self._replace(step=self.step + 1)"
UPDATE = "def update(state, x):\n    loss = train(x)\n    return state._replace(step=state.step + 1){}\nstate = State()"
PLACES = "def update(state, x):\n    step, best = state\n    loss = train(x)\n    return {}\nstate = (0, 1e9)"
KEPT = """\
def load():
    if os.path.exists("state"):
        with open("state", "rb") as f:
            return pickle.load(f)
    return State()
state = load()"""


def program(kind: str, begins: str, counts: str, read: str, take: str = "120") -> str:
    counts = counts.replace("\n", "\n    ")
    return PROGRAM.format(kind=kind, begins=begins, counts=counts, read=read, take=take)


@pytest.mark.parametrize(
    ("kind", "begins", "counts", "read"),
    [
        (TUPLE, "state = State()", "train(x)\nstate = state._replace(step=state.step + 1)", "state.step"),
        (
            DATA,
            "state = State(0)",
            "loss = train(x)\nstate = dataclasses.replace(state, step=state.step + 1, best=min(state.best, float(loss)))",
            "state.step",
        ),
        (
            NAMED,
            "state = State(0, 1e9)",
            "train(x)\nstate = state._replace(step=state.step + 1)",
            "state.step",
        ),
        (
            TUPLE,
            "state = State()",
            "loss = train(x)\nstate = State(state.step + 1, float(loss))",
            "state.step",
        ),
        (
            TUPLE,
            "state = State()",
            "loss = train(x)\nstate = State(step=state.step + 1, best=0.0)",
            "state.step",
        ),
        (
            "",
            'state = {"step": 0}',
            'train(x)\nstate = {**state, "step": state["step"] + 1}',
            'state["step"]',
        ),
        (
            "",
            "state = dict(step=0)",
            'train(x)\nstate = dict(state, step=state["step"] + 1)',
            'state["step"]',
        ),
        ("", 'state = {"step": 0}', 'train(x)\nstate = state | {"step": state["step"] + 1}', 'state["step"]'),
        ("", 'state = {"step": 0}', 'train(x)\nstate.update(step=state["step"] + 1)', 'state["step"]'),
        ("", 'state = {"step": 0}', 'train(x)\nstate.update({"step": state["step"] + 1})', 'state["step"]'),
        (TUPLE, UPDATE.format(""), "state = update(state, x)", "state.step"),
        (TUPLE, UPDATE.format(", loss"), "state, loss = update(state, x)", "state.step"),
        (METHOD, "state = State()", "train(x)\nstate = state.next()", "state.step"),
        ("", "state = (0, 1e9)", "loss = train(x)\nstate = (state[0] + 1, float(loss))", "state[0]"),
        ("", "state = [1e9, 0]", "loss = train(x)\nstate = [float(loss), state[1] + 1]", "state[1]"),
        ("", "state = 0, 1e9", "step, best = state\ntrain(x)\nstate = step + 1, best", "step"),
        ("", PLACES.format("(step + 1, best)"), "state = update(state, x)", "state[0]"),
        ("", PLACES.format("(step + 1, best), loss"), "state, loss = update(state, x)", "state[0]"),
        ("", PLACES.format("step + 1, best"), "state = update(state, x)\nstep, best = state", "step"),
    ],
)
def test_a_field_that_is_counted_on_counts_a_ranks_steps(
    kind: str, begins: str, counts: str, read: str
) -> None:
    plan = plan_of(program(kind, begins, counts, read))
    assert f"    if {read} == max(1, 60 // hvd.size()):\n" in plan.text
    assert f"    if {read} % max(1, 50 // hvd.size()) == 0 and hvd.rank() == 0:\n" in plan.text
    assert f"opt.learning_rate = 0.1 * 0.5 ** ({read} * hvd.size() / 40) * hvd.size()\n" in plan.text
    assert not [c.doubt for c in plan.changes if not c.sure]


def test_a_budget_by_such_a_field_is_divided() -> None:
    source = program(TUPLE, "state = State()\nit = iter(ds)", "train(next(it))\nstate = state._replace(step=state.step + 1)",
                     "state.step").replace("for x in ds.take(120):", "while state.step < 120:")  # fmt: skip
    plan = plan_of(source)
    assert "while state.step < 120 // hvd.size():\n" in plan.text
    assert not [c.doubt for c in plan.changes if not c.sure]


def test_a_field_that_is_kept_in_a_file_goes_on_by_the_steps_of_all_ranks() -> None:
    counts = "train(x)\nstate = state._replace(step=state.step + 1)"
    source = program(TUPLE, KEPT, counts, "state.step", "120 - state.step").replace(
        '        model.save_weights("w")\n',
        '        model.save_weights("w")\n        with open("state", "wb") as f:\n            pickle.dump(state, f)\n',
    )
    text = plan_of(source).text
    assert "state = hvd.broadcast_object(load())\n" in text
    assert "    state = state._replace(step=state.step + hvd.size())\n" in text
    assert "    if state.step % 50 < hvd.size() and hvd.rank() == 0:\n" in text
    assert "opt.learning_rate = 0.1 * 0.5 ** (state.step / 40) * hvd.size()\n" in text


@pytest.mark.parametrize(
    ("begins", "counts"),
    [
        # of evaluations, of what is set anew in each turn, of another record's field
        (
            "state = State()\nn = 0",
            "n += 1\ntrain(x)\nif n % 50 == 0:\n    state = state._replace(step=state.step + 1)",
        ),
        (
            "state = State()",
            "train(x)\nstate = state._replace(step=0)\nstate = state._replace(step=state.step + 1)",
        ),
        ("state = State()\nold = State()", "train(x)\nstate = state._replace(step=old.step + 1)"),
        ("state = State()", "train(x)\nold = state._replace(step=state.step + 1)"),
    ],
)
def test_fields_that_count_something_else_are_left(begins: str, counts: str) -> None:
    assert "(state.step / 40)" in plan_of(program(TUPLE, begins, counts, "state.step")).text


@pytest.mark.parametrize(
    ("begins", "counts"),
    [
        ("state = (0, 1e9)\nn = 0", "n += 1\ntrain(x)\nif n % 50 == 0:\n    state = (state[0] + 1, 1.0)"),
        ("state = (0, 1e9)", "train(x)\nstate = (0, 1e9)\nstate = (state[0] + 1, 1.0)"),
        ("state = (0, 1e9)\nold = (0, 1.0)", "train(x)\nstate = (old[0] + 1, 1.0)"),
        ("state = (0, 1e9)", "train(x)\nold = (state[0] + 1, 1.0)"),
        ("state = (0, 0)", "train(x)\nstate = (state[1] + 1, state[0])"),
        ("state = (0, 1e9)", "train(x)\nstate = (state[0] + float(x[0, 0]), 1.0)"),
    ],
)
def test_places_of_tuples_that_count_something_else_are_left(begins: str, counts: str) -> None:
    assert "(state[0] / 40)" in plan_of(program("", begins, counts, "state[0]")).text


def test_a_budget_by_a_place_of_a_tuple_is_divided() -> None:
    source = program("", "state = (0, 1e9)\nit = iter(ds)", "train(next(it))\nstate = (state[0] + 1, 1.0)",
                     "state[0]").replace("for x in ds.take(120):", "while state[0] < 120:")  # fmt: skip
    plan = plan_of(source)
    assert "while state[0] < 120 // hvd.size():\n" in plan.text
    assert not [c.doubt for c in plan.changes if not c.sure]


def test_a_rate_in_such_a_record_that_goes_on_is_still_asked_about() -> None:
    kind = "class State(NamedTuple):\n    step: int = 0\n    rate: float = 0.1"
    counts = "train(x)\nstate = state._replace(step=state.step + 1, rate=state.rate * 0.99)\nopt.learning_rate = state.rate"
    plan = plan_of(program(kind, "state = State()", counts, "state.step"))
    assert any("goes on from its last value" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("begins", "counts", "read"),
    [
        (
            "state = (0, 0.1)",
            "state = (state[0] + 1, state[1] * 0.99)\nopt.learning_rate = state[1]",
            "state[0]",
        ),
        (
            "state = (0, 0.1)",
            "step, rate = state\nstate = (step + 1, rate * 0.99)\nopt.learning_rate = rate",
            "step",
        ),
        (
            "state = (0.1, 0)",
            "rate, step = state\nstate = (rate * 0.99, step + 1)\nopt.learning_rate = rate",
            "step",
        ),
    ],
)
def test_a_rate_in_such_a_tuple_goes_on_by_the_steps_of_all_ranks(
    begins: str, counts: str, read: str
) -> None:
    """And the count beside it stays: nothing multiplies what it goes on from."""
    plan = plan_of(program("", begins, "train(x)\n" + counts, read))
    assert " * 0.99 ** hvd.size()" in plan.text
    assert f"({read} + 1" in plan.text or f", {read} + 1)" in plan.text
    assert not [c.doubt for c in plan.changes if not c.sure]


def test_what_an_object_is_made_with_counts_for_more_than_its_classs_default() -> None:
    """`Config(n=random.randint(3, 9)).n`: ranks differ in it."""
    source = program(
        "import random\n@dataclasses.dataclass\nclass Config:\n    n: int = 3",
        "config = Config(n=random.randint(3, 9))",
        "for _ in range(config.n):\n    train(x)",
        "opt.iterations",
    )
    text = plan_of(source).text
    assert "broadcast_object" in text
