"""G4, K3: what an optimizer is made with, where a file of an earlier run tells it."""

from __future__ import annotations

import pytest

from ..pairs import plan_of, refused

PROGRAM = """\
import json
import os
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
first, rate = 0, {begin}
if os.path.isfile("state.json"):
    with open("state.json") as f:
        state = json.load(f)
    {read}
model.compile({optimizer}, "mse")
class Save(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        with open("state.json", "w") as f:
            json.dump({{"epoch": epoch + 1, "rate": float(self.model.optimizer.learning_rate)}}, f)
model.fit(x, y, epochs=10, initial_epoch=first, callbacks=[Save()])
"""
READ = 'first, rate = state["epoch"], state["rate"]'


def source(begin: str = "0.01", read: str = READ, optimizer: str = "tf.keras.optimizers.SGD(rate)") -> str:
    return PROGRAM.format(begin=begin, read=read, optimizer=optimizer)


@pytest.mark.parametrize(
    ("read", "optimizer"),
    [
        (READ, "tf.keras.optimizers.SGD(rate)"),
        ('rate = state["rate"]', "tf.keras.optimizers.Adam(learning_rate=rate, clipnorm=1.0)"),
    ],
)
def test_a_rate_that_is_read_is_rank_0_s(read: str, optimizer: str) -> None:
    """Such a program was refused. What it writes is the rate of one process, as before."""
    text = plan_of(source(read=read, optimizer=optimizer)).text
    assert text.index("rate = hvd.broadcast_object(rate)\n") < text.index("model.compile(")
    assert "rate * hvd.size()" in text
    assert '"rate": float(self.model.optimizer.learning_rate) / hvd.size()' in text


@pytest.mark.parametrize(
    ("begin", "read", "optimizer"),
    [
        (
            "tf.keras.optimizers.schedules.ExponentialDecay(0.1, 100, 0.9)",
            "rate = tf.keras.optimizers.schedules.ExponentialDecay(state['rate'], 100, 0.9)",
            "tf.keras.optimizers.SGD(rate)",
        ),
        ("0.01", READ, "tf.keras.optimizers.SGD(rate if os.path.isfile('state.json') else 0.1)"),
    ],
)
def test_what_is_no_number_that_has_a_name_is_refused(begin: str, read: str, optimizer: str) -> None:
    refused(source(begin, read, optimizer), "HVD107")
