"""G4, G6: a field that a file tells is rank 0's from where it is first read, and what goes by it needs no more telling."""

from __future__ import annotations

from ..pairs import plan_of

SOURCE = """\
import json
import os
import numpy as np
import tensorflow as tf


class State:
    def __init__(self):
        self.step = 0

    def load(self):
        if os.path.exists("state.json"):
            with open("state.json") as f:
                self.__dict__.update(json.load(f))

    def dump(self):
        with open("state.json", "w") as f:
            json.dump(self.__dict__, f)


def batches(x, skip):
    n = 0
    while True:
        for i in range(0, len(x), 16):
            n += 1
            if n > skip:
                yield x[i : i + 16]


def rate_at(step):
    return 0.01 * 0.99**step


x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01)
state = State()
state.load()
gen = batches(x, state.step)
while state.step < 400:
    rows = next(gen)
    opt.learning_rate.assign({rate})
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    w = model.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, w), w))
    state.step += 1
    state.dump()
"""


def test_it_is_sent_before_a_generator_is_made_with_it() -> None:
    """Where rank 0's host alone has the file, the generators of the others began with the first batch."""
    text = plan_of(SOURCE.format(rate="rate_at(state.step)")).text
    sent = "state.load()\nstate.step = hvd.broadcast_object(state.step)\ngen = batches(x, state.step)\n"
    assert sent in text


def test_a_rate_that_goes_by_it_needs_no_message_in_each_step() -> None:
    for rate in ("rate_at(state.step)", "0.01 * 0.99**state.step"):
        assert (
            f"    opt.learning_rate.assign({rate} * hvd.size())\n" in plan_of(SOURCE.format(rate=rate)).text
        )


def test_one_that_goes_by_something_else_does() -> None:
    text = plan_of(SOURCE.format(rate="rate_at(state.step) + np.random.rand()")).text
    assert "assign(rate_at(state.step) + np.random.rand() * hvd.size())" not in text
