"""G2: flags, numbers and functions that a loop sets once for later losses, by what each rank measures."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def absolute(a, b):
    return tf.reduce_mean(tf.abs(a - b))
def squared(a, b):
    return tf.reduce_mean(tf.square(a - b))
flag, weight, loss_fn, shown = False, 1.0, squared, False
for epoch in range(9):
    losses = []
    for a, b in data:
{before}        with tf.GradientTape() as tape:
{loss}
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        losses.append(float(loss))
    if {test}:
        {done}
"""
PLAIN = "            loss = squared(model(a), b)"
CASES = (
    "            if flag:\n                loss = absolute(model(a), b)\n            else:\n"
    "                loss = squared(model(a), b)"
)


def text_of(loss: str, done: str, test: str = "np.mean(losses) < 0.5", before: str = "") -> str:
    return plan_of(PROGRAM.format(loss=loss, done=done, test=test, before=before)).text


@pytest.mark.parametrize(
    ("loss", "done"),
    [
        ("            loss = absolute(model(a), b) if flag else squared(model(a), b)", "flag = True"),
        (CASES, "flag = True"),
        ("            loss = weight * squared(model(a), b)", "weight = 0.5"),
        ("            loss = loss_fn(model(a), b)", "loss_fn = absolute"),
        ("            loss = loss_fn(model(a), b)", "loss_fn = lambda a, b: tf.reduce_max(tf.abs(a - b))"),
    ],
)
def test_ranks_set_together_what_later_losses_are_made_with(loss: str, done: str) -> None:
    """Each set it by its own losses, and trained for another aim from there on: nothing was said."""
    assert "    if mean_over_ranks(np.mean(losses)) < 0.5:\n" in text_of(loss, done)


def test_what_no_loss_is_made_with_is_set_by_each() -> None:
    assert "    if np.mean(losses) < 0.5:\n" in text_of(PLAIN, "shown = True")


def test_what_all_ranks_decide_alike_is_left() -> None:
    assert "    if epoch > 4:\n" in text_of(CASES, "flag = True", "epoch > 4")


def test_what_is_set_for_the_loss_of_its_own_rows_is_left() -> None:
    """As a weight of each row is."""
    before = "        flag = False\n        if tf.reduce_max(tf.abs(model(a) - b)) > 2.0:\n            flag = True\n"
    text = text_of(CASES, "pass", before=before)
    assert "        if tf.reduce_max(tf.abs(model(a) - b)) > 2.0:\n" in text
    assert "mean_over_ranks" not in text


FIELDS = """\
class Trainer:
    def __init__(self):
        self.strict = False
    def step(self, a, b):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(a) - b))
            if self.strict:
                loss += tf.reduce_mean(tf.abs(model(a)))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss
    def run(self):
        for epoch in range(9):
            losses = [self.step(a, b) for a, b in data]
            if np.mean(losses) < 0.5:
                self.{field} = True
Trainer().run()
"""


@pytest.mark.parametrize(("field", "together"), [("strict", True), ("shown", False)])
def test_a_field_that_a_step_reads(field: str, together: bool) -> None:
    source = PROGRAM.split("def absolute", maxsplit=1)[0] + FIELDS.replace("{field}", field)
    assert ("mean_over_ranks(np.mean(losses)) < 0.5" in plan_of(source).text) is together
