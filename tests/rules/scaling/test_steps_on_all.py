"""C5: a function that takes steps on all of the data, and others on batches."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import sys
import numpy as np
import tensorflow as tf
x, y = np.random.RandomState(0).rand(64, 4).astype("float32"), np.zeros((64, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
TAPE = """\
optimizer = tf.keras.optimizers.SGD(0.05)
def gradients_of(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    return tape.gradient(loss, model.trainable_variables)
def step(a, b):
    optimizer.apply_gradients(zip(gradients_of(a, b), model.trainable_variables))
"""
METHOD = """\
class Trainer:
    def __init__(self, x, y):
        self.x, self.y, self.optimizer = x, y, tf.keras.optimizers.SGD(0.05)
    @tf.function
    def take(self, a, b):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    def step(self, a, b):
        self.take(a, b)
trainer = Trainer(x, y)
step = trainer.step
"""
KERAS = """\
model.compile(tf.keras.optimizers.SGD(0.05), "mse")
def step(a, b):
    return model.train_on_batch(a, b)
"""
EITHER = """\
for i in range(100):
    if len(sys.argv) > 1:
        {whole}
    else:
        rows = np.random.choice(64, 16)
        {batch}
"""
WHOLE, BATCH = "step(x, y)", "step(x[rows], y[rows])"


def asked(text: str) -> list[str]:
    plan = plan_of(HEAD + text)
    return [change.doubt for change in plan.changes if "sees all of the data on every rank" in change.doubt]


@pytest.mark.parametrize("steps", [TAPE, KERAS], ids=["tape", "train_on_batch"])
def test_a_script_that_is_told_to_take_all_rows_is_asked_about(steps: str) -> None:
    assert len(asked(steps + EITHER.format(whole=WHOLE, batch=BATCH))) == 1


def test_so_is_one_that_takes_its_steps_in_methods() -> None:
    calls = EITHER.format(whole="trainer.step(trainer.x, trainer.y)", batch="trainer.step(x[rows], y[rows])")
    assert len(asked(METHOD + calls)) == 1


def test_so_is_one_that_takes_batches_by_an_index() -> None:
    calls = "for i in range(0, 64, 16):\n    {}\n".format("step(x[i : i + 16], y[i : i + 16])")
    assert len(asked(TAPE + calls + "for epoch in range(9):\n    step(x, y)\n")) == 1


@pytest.mark.parametrize(
    "calls",
    [
        EITHER.format(whole="step(x[i % 8 :: 8], y[i % 8 :: 8])", batch=BATCH),
        EITHER.format(whole="step(tf.random.normal((16, 4)), tf.ones((16, 1)))", batch=BATCH),
        f"for i in range(100):\n    rows = np.random.choice(64, 16)\n    {BATCH}\n",
        # the first step, by which the weights are made
        f"step(x, y)\nfor i in range(100):\n    rows = np.random.choice(64, 16)\n    {BATCH}\n",
    ],
)
def test_steps_on_batches_alone_are_not(calls: str) -> None:
    assert asked(TAPE + calls) == []
