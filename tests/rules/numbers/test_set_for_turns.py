"""Variables that each step sets for itself by the number of its turn stay as they are."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np, tensorflow as tf

class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.n, self.phase = tf.Variable(0, trainable=False), tf.Variable(0.0, trainable=False)
        self.head = tf.keras.layers.Dense(1)
    def call(self, x):
        return self.head(x)
    def train_step(self, data):
        x, y = data
        self.n.assign_add(1)
        {}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2) * (1 + {})
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {{"loss": loss}}

model = Model()
model.compile(tf.keras.optimizers.SGD(0.01))
model.fit(np.ones((640, 4), "float32"), np.ones((640, 1), "float32"), batch_size=16, epochs=2)
"""


@pytest.mark.parametrize(
    "value",
    [
        "tf.where(self.n % 2 == 0, 1.0, 0.0)",
        "tf.cast(self.n % 2 == 0, tf.float32)",
        "tf.where(tf.equal(self.n % 30, 0), 1.0, 0.0)",
    ],
)
def test_what_the_loss_of_a_turn_is_made_with_comes_as_often_in_a_hundred(value: str) -> None:
    setting = f"self.phase.assign({value})"
    plan = plan_of(PROGRAM.format(setting, "self.phase"))
    assert setting in plan.text


def test_another_number_goes_by_the_rows_that_are_seen() -> None:
    setting = "self.phase.assign(tf.where(self.n % 30 == 0, 1.0, 0.0))"
    assert setting not in plan_of(PROGRAM.format(setting, "0.0")).text
