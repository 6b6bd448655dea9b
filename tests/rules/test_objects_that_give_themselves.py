"""What hangs on an object is found where a method gives the object itself: `Trial().build()`."""

from __future__ import annotations

import pytest

from .pairs import plan_of

PROGRAM = """\
import tensorflow as tf


class Trial:
    def __init__(self):
        self.steps = 0

    def build(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.opt = tf.keras.optimizers.SGD(0.05)
        return self


def train(trial, budget):
    for b in tf.data.Dataset.from_tensor_slices(x).shuffle(1600).repeat().batch(16).take(budget):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(trial.model(b) ** 2)
        weights = trial.model.trainable_variables
        trial.opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
        trial.steps += 1


best = {made}
while best.steps < 500:
    train(best, 100)
"""


@pytest.mark.parametrize("made", ["Trial().build()", "Trial()\nbest.build()"])
def test_the_rate_is_scaled_and_the_steps_are_divided(made: str) -> None:
    """It was said that nothing sets the optimizer, and training went on for size() times the rows."""
    text = plan_of(PROGRAM.format(made=made)).text
    assert "self.opt = tf.keras.optimizers.SGD(0.05 * hvd.size())" in text
    assert ".take(budget // hvd.size())" in text
    assert "while best.steps < max(1, 500 // hvd.size()):" in text
