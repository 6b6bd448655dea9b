"""G4: what other calls give to a function that makes an optimizer's rate does not come into the optimizer."""

from __future__ import annotations

import pytest

from ..pairs import plan_of, refused

PROGRAM = """\
import json
import os
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")


class Trainer:
    def __init__(self):
        self.step = 0
        if {early}:
            self.resume()
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.SGD(self.rate({first}))

    def rate(self, step):
        return 0.01 * step / 40 if step < 40 else 0.01 * 0.999 ** step

    def resume(self):
        if os.path.exists("state.json"):
            self.step = json.load(open("state.json"))["step"]

    def run(self):
        self.resume()
        while self.step < 600:
            rows = np.random.randint(0, len(x), 16)
            self.optimizer.learning_rate.assign(self.rate(self.step))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.model(x[rows]) - y[rows]) ** 2)
            grads = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
            self.step += 1


Trainer().run()
"""


@pytest.mark.parametrize("first", ["0", "1 + 1"])
def test_a_rate_of_a_number_that_is_written_is_the_same_on_all_ranks(first: str) -> None:
    text = plan_of(PROGRAM.format(early="False", first=first)).text
    assert f"SGD(self.rate({first}) * hvd.size())" in text
    assert "self.step = hvd.broadcast_object(self.step)" in text


def test_a_rate_of_the_step_that_a_file_tells_is_not() -> None:
    refused(PROGRAM.format(early="True", first="self.step"), "HVD107")
