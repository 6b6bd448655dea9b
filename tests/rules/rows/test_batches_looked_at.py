"""D3: a function that draws one batch draws one of each rank's own, whoever else asks it for one before training."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import random
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)


def get_batch(size):
    {draw}
    return x[rows], y[rows]


{before}
for step in range(400):
    a, b = get_batch(16)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
DRAWS = [
    "rows = np.random.choice(len(x), size, replace=False)",
    "rows = np.random.choice(range(len(x)), size)",
    "rows = np.random.permutation(len(x))[:size]",
    "rows = random.sample(range(len(x)), size)",
    "rows = list(range(len(x))); random.shuffle(rows); rows = rows[:size]",
]


@pytest.mark.parametrize("before", ["print(get_batch(3))", "x_test, y_test = get_batch(100)", ""])
@pytest.mark.parametrize("draw", DRAWS)
def test_each_rank_draws_its_own_batch(draw: str, before: str) -> None:
    """A batch that was printed made all ranks train on the same rows, at size() times the rate."""
    assert draw.split("; ", maxsplit=1)[0] in plan_of(PROGRAM.format(draw=draw, before=before)).text


@pytest.mark.parametrize(
    "draw",
    ["order = np.random.permutation(len(x))", "order = list(range(len(x))); random.shuffle(order)"],
)
def test_an_order_that_is_kept_is_the_same_on_all_ranks(draw: str) -> None:
    """One that each epoch draws again by a function, and one before the first."""
    source = PROGRAM.format(draw="global order; rows = order[:size]", before="")
    source = source.replace(
        "def get_batch", f"def shuffle():\n    global order\n    {draw}\n\n\nshuffle()\n\n\ndef get_batch"
    )
    source = source[: source.index("for step in")] + TURNS
    text = plan_of(source).text
    assert "broadcast_object(" in text or "alike(" in text


TURNS = """\
for epoch in range(4):
    shuffle()
    for i in range(0, len(x), 16):
        a, b = x[order[i : i + 16]], y[order[i : i + 16]]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


SPLIT = """\
import numpy as np
from tensorflow import keras

x, y = np.load("x.npy"), np.load("y.npy")
train, test = [], []
for label in range(7):
    group = x[y == label]
    kept = {drawn} <= 0.5
    train.append(group[kept])
    test.append(group[~kept])
model = keras.Sequential([keras.layers.Dense(7)])
model.compile(keras.optimizers.Adam(0.01), "mse")
model.fit(np.concatenate(train), epochs=3, batch_size=16)
"""


def test_rows_that_are_kept_for_a_test_by_classes_are_the_same_on_all_ranks() -> None:
    """Each rank split for itself: it trained on what others tested with."""
    plan = plan_of(SPLIT.format(drawn="np.random.rand(len(group))"))
    assert "kept = alike(np.random.rand)(len(group)) <= 0.5" in plan.text
    assert "alike" not in plan_of(SPLIT.format(drawn="group[:, 0]")).text
