"""Batches whose steps hand a state on have an order, also where a function of the program makes the first state."""

from __future__ import annotations

import pytest

from .pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf

data = np.load("text.npy")
opt = tf.keras.optimizers.SGD(0.1)


class Net(tf.keras.Model):
    def begin(self, n):
        return tf.{first}([n, 16])

    def unroll(self, x, state):
        return self.cell(x, [state])


model = Net()


def train(x, state):
    with tf.GradientTape() as tape:
        logits, state = model.unroll(x, state)
        loss = tf.reduce_mean(logits ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss, state


for epoch in range(3):
    state = model.begin(8)
    for i in range(0, 1980, 20):
        loss, {state} = train(data[:, i : i + 20], {given})
"""


def noted(first: str, state: str, given: str) -> bool:
    plan = plan_of(PROGRAM.format(first=first, state=state, given=given))
    return any("goes on from the state" in note.message for note in plan.notes)


@pytest.mark.parametrize(
    ("first", "state", "given", "goes_on"),
    [
        ("zeros", "state", "state", True),
        ("zeros", "_", "state", False),  # each step begins again
        ("zeros", "state", "model.begin(8)", False),
        ("eye", "_", "state", False),
    ],
)
def test_a_state_that_a_method_begins(first: str, state: str, given: str, goes_on: bool) -> None:
    """The windows were dealt out: a rank handed the state over windows that it had not seen."""
    assert noted(first, state, given) == goes_on
