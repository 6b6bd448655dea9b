"""Averages of a sum over divided steps, taken by a function that is told both. G4, S5."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def get(n):
    return np.random.rand(n, 3), np.random.rand(n, 1)
{show}
class Trainer:
    def show(self, epoch, total, steps):
        print(epoch, total / {divisor})
    def train(self, steps, epochs):
        for epoch in range(epochs):
            total = 0.0
            for step in {numbers}:
                x, y = get(8)
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((model(x) - y) ** 2)
                opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
                total += loss
            {call}
Trainer().train(200, 3)
"""
PLAIN = {"show": "", "divisor": "steps", "numbers": "range(steps)", "call": "self.show(epoch, total, steps)"}


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"divisor": "float(steps)"},
        {"numbers": "range(epoch * steps, (epoch + 1) * steps)"},
        {"numbers": "range(steps * epoch, steps * (epoch + 1))"},
        {"call": "self.show(total=total, steps=steps, epoch=epoch)"},
        {"show": "def show(total, steps):\n    print(total / steps)", "call": "show(total, steps)"},
    ],
)
def test_the_number_of_steps_that_a_function_is_told_is_that_of_a_rank(other: dict[str, str]) -> None:
    """`Average loss: total / steps` was 1 / size() of it."""
    assert "max(1, steps // hvd.size())" in plan_of(PROGRAM.format(**PLAIN | other)).text


@pytest.mark.parametrize(
    "other",
    [
        {"divisor": "steps, steps"},  # it is told as well
        {"divisor": "(epoch + 1)"},
        {"call": "self.show(epoch, 3.0, steps)"},
        {"call": "self.show(epoch, total, 7)"},
        {"call": "self.show(*[epoch, total, steps])"},
        {"numbers": "range(epoch * steps, (epoch + 2) * steps)"},
    ],
)
def test_other_numbers_are_left(other: dict[str, str]) -> None:
    call = (PLAIN | other)["call"]
    assert f"            {call}\n" in plan_of(PROGRAM.format(**PLAIN | other)).text


KEPT = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
data = np.load("x.npy")
n, kept, last = len(data) // 8, [], []
for epoch in range(3):
    for i in range(n):
        x = data[i * 8 : i * 8 + 8]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        kept.append(float(loss))
    last.append(loss)
{}
"""
SAID = "what is kept of each step here"


@pytest.mark.parametrize(
    "use",
    [
        "curve = [sum(kept[k * n : (k + 1) * n]) for k in range(3)]",
        "epochs = int(len(kept) / n)",
        "copied = [k for k in kept]\nepochs = len(copied) // n",
    ],
)
def test_a_list_of_steps_that_is_cut_by_how_many_there_were_is_noted(use: str) -> None:
    assert any(SAID in note.message for note in plan_of(KEPT.format(use)).notes)


@pytest.mark.parametrize(
    "use",
    [
        "",
        "print(np.mean(kept))",
        "print(len(last) / n)",
        "print(n)",
        "print(len(data) // n)",
        "kept = kept[:9]",
    ],
)
def test_other_uses_are_not(use: str) -> None:
    assert not any(SAID in note.message for note in plan_of(KEPT.format(use)).notes)
