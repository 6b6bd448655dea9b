"""G5: tests of what counts steps in some calls only, or of an object that can't be seen, are asked about."""

from __future__ import annotations

import pytest

from ..pairs import TF, doubts, plan_of

ENGINE = (
    TF
    + """
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
class State:
    def __init__(self):
        self.step, self.epoch = 0, 0
class Engine:
    def __init__(self):
        self.handlers = {}
        self.state = State()
    def on(self, event, every=1):
        def put(function):
            self.handlers.setdefault(event, []).append((function, every))
            return function
        return put
    def fire(self, event, count):
        for function, every in self.handlers[event]:
            if count % every == 0:
                function(self)
    def run(self):
        for self.state.epoch in range(9):
            for x, y in ds:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x) - y)
                opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
                self.state.step += 1
                self.fire("step", self.state.step)
            self.fire("epoch", self.state.epoch)
engine = Engine()
"""
)
RATE = """
@engine.on("step")
def warm_up(e):
    if e.state.step <= 50:
        opt.learning_rate.assign(0.1 * e.state.step / 50)
"""
RUN = "engine.run()\n"


def test_a_number_that_counts_steps_in_some_calls() -> None:
    """`if count % every` of steps and of epochs came size() times too seldom."""
    assert any("`count * hvd.size()`" in doubt for doubt in doubts(plan_of(ENGINE + RUN), "G5"))


def test_a_count_that_an_object_of_an_object_keeps() -> None:
    plan = plan_of(ENGINE + RATE + RUN)
    assert any("`e.state.step`" in doubt for doubt in doubts(plan, "G5"))
    assert any("this rate goes by a count of steps" in doubt for doubt in doubts(plan, "C5"))


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('self.fire("epoch", self.state.epoch)', "pass"),  # counts steps alone: adapted
        ('self.fire("step", self.state.step)', "pass"),  # epochs alone
        ("                function(self)", "                print(count)"),  # shown alone
    ],
)
def test_what_is_one_thing_or_shown_is_not_asked_about(before: str, after: str) -> None:
    plan = plan_of(ENGINE.replace(before, after) + RUN)
    assert not any("`count" in doubt for doubt in doubts(plan, "G5"))


def test_epochs_of_an_object_are_no_steps() -> None:
    rate = RATE.replace("e.state.step", "e.state.epoch")
    assert not doubts(plan_of(ENGINE.replace('self.fire("epoch"', 'print("epoch"') + rate + RUN), "G5", "C5")


# ---------------------------------------------------------------------- what a function is told that is made of a count

SAMPLES = """\
import math
import numpy as np
import tensorflow as tf
model = tf.keras.layers.Dense(1)
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices(tf.zeros([64, 2])).batch(4)
def sample(step):
    if {}:
        {}
for epoch in range(3):
    for i, x in enumerate(ds):
        with tf.GradientTape() as t:
            loss = tf.reduce_mean(model(x))
        opt.apply_gradients(zip(t.gradient(loss, model.trainable_variables), model.trainable_variables))
        sample({})
"""
SAVE = 'model.save_weights("frame_%d" % step)'


@pytest.mark.parametrize(
    "test",
    [
        "np.sqrt(step).is_integer()",
        "math.log2(step + 1).is_integer()",
        "not (step / 100).is_integer()",
        "math.isqrt(step) ** 2 == step",
    ],
)
def test_what_is_said_of_a_number_made_of_a_count(test: str) -> None:
    """A picture at each square of the step came half as often on two ranks: of multiples of two, each other square is one."""
    assert doubts(plan_of(SAMPLES.format(test, SAVE, "epoch * 16 + i")), "G5")


@pytest.mark.parametrize(
    ("test", "does", "told"),
    [
        ("np.sqrt(step).is_integer()", "print(step)", "epoch * 16 + i"),  # shown alone
        ("np.sqrt(step).is_integer()", SAVE, "epoch"),  # epochs are no steps
        ("str(model.name).endswith('1')", SAVE, "epoch * 16 + i"),  # of no number
    ],
)
def test_what_is_said_of_other_things_is_not_asked_about(test: str, does: str, told: str) -> None:
    assert not doubts(plan_of(SAMPLES.format(test, does, told)), "G5")
