"""G5: numbers that a generator function yields with the steps that it takes itself."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(4)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    weights = model.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss
"""
TRAIN = """\
def train(epochs):
    n = 0
    for epoch in range(epochs):
        for x, y in ds:
            loss = step(x, y)
            n += 1
            yield {}
"""
CLASS = """\
class Training:
    def __iter__(self):
        for x, y in ds.repeat(4):
            yield step(x, y)
"""
TESTS = """\
    if k % 40 == 0:
        model.save_weights("w.h5")
    if k > 100:
        opt.learning_rate.assign(0.01)
"""
DIVIDED = ("if k % max(1, 40 // hvd.size()) == 0", "if k > max(1, 100 // hvd.size()):")


@pytest.mark.parametrize(
    "program",
    [
        TRAIN.format("n, epoch, loss") + "for k, epoch, loss in train(3):\n",
        TRAIN.format("n") + "for k in train(3):\n",
        TRAIN.format("loss") + "for k, loss in enumerate(train(3)):\n",
        TRAIN.format("n, (epoch, loss)") + "for i, (k, loss) in enumerate(train(3)):\n",
        TRAIN.format("{'n': n, 'loss': loss}") + "for out in train(3):\n    k = out['n']\n",
        CLASS + "for k, loss in enumerate(Training()):\n",
    ],
)
def test_what_is_yielded_with_each_step_counts_it(program: str) -> None:
    text = plan_of(HEAD + program + TESTS).text
    assert all(test in text for test in DIVIDED)


@pytest.mark.parametrize(
    "program",
    [
        TRAIN.format("epoch, loss") + "for k, loss in train(200):\n",  # an epoch
        # once an epoch
        TRAIN.replace("            yield", "        yield").format("loss")
        + "for k, loss in enumerate(train(200)):\n",
        "def numbers():\n    for n in range(200):\n        yield n\n"
        "for k in numbers():\n    for x, y in ds:\n        step(x, y)\n",
    ],
)
def test_what_counts_something_else(program: str) -> None:
    text = plan_of(HEAD + program + TESTS).text
    assert not any(test in text for test in DIVIDED)


def test_a_count_over_all_epochs_that_is_yielded() -> None:
    program = TRAIN.replace("for x, y in ds:", "for i, (x, y) in enumerate(ds):").format(
        "epoch * len(ds) + i, loss"
    )
    text = plan_of(HEAD + program + "for k, loss in train(3):\n" + TESTS).text
    assert "            yield epoch * (len(ds) * hvd.size()) + i * hvd.size(), loss\n" in text
    assert "    if k % 40 < hvd.size()" in text
    assert "    if k > 100:\n" in text


TURNS = """\
k = looked = 0
for loss in train(3):
    k += 1
"""


def test_turns_of_a_loop_through_a_generator_that_trains_are_steps() -> None:
    text = plan_of(HEAD + TRAIN.format("loss") + TURNS + TESTS).text
    assert all(test in text for test in DIVIDED)


def test_what_only_some_of_its_turns_count_are_not() -> None:
    looked = "    if k % 40 == 0:\n        looked += 1\n        if looked == 6:\n            opt.learning_rate.assign(0.01)\n"
    text = plan_of(HEAD + TRAIN.format("loss") + TURNS + looked).text
    assert "if looked == 6:" in text


def test_a_generator_that_goes_through_itself() -> None:
    again = "def again(n):\n    for loss in again(n - 1):\n        yield loss\nk = 0\nfor loss in again(3):\n    k += 1\n"
    assert "k += 1" in plan_of(HEAD + TRAIN.format("loss") + "for loss in train(3):\n    pass\n" + again).text
