"""G5: numbers that come with batches that are dealt out: of a test of them one of the ranks' batches decides."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
X, Y = np.load("x.npy"), np.load("y.npy")
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    weights = model.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""
DRAWN = """\
def batches(n):
    for k in range(n):
        i = np.random.randint(0, len(X), 16)
        yield k, X[i], Y[i]
"""
COUNTED = """\
def batches(n, k=0):
    while True:
        order = np.random.permutation(len(X))
        for i in range(0, len(X), 16):
            if k == n:
                return
            yield k, X[order[i:i + 16]], Y[order[i:i + 16]]
            k += 1
"""
RESTARTED = """\
def batches(n):
    for epoch in range(n):
        for k, i in enumerate(range(0, len(X), 16)):
            yield k, X[i:i + 16], Y[i:i + 16]
"""
LOOP = "for k, x, y in batches(160):\n    step(x, y)\n    if {}:\n        model.save_weights('w.h5')\n"


@pytest.mark.parametrize("batches", [DRAWN, COUNTED])
@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("k % 50 == 49", "(49 - k + hvd.rank()) % 50 < hvd.size()"),
        ("(k + 1) % 50 == 0", "(hvd.rank() - (k + 1)) % 50 < hvd.size()"),
        ("k % 50 != 0", "(hvd.rank() - k) % 50 >= hvd.size()"),
        ("k == 99", "0 <= 99 - k + hvd.rank() < hvd.size()"),
        ("k + 1 == n", "0 <= n - (k + 1) + hvd.rank() < hvd.size()"),
        ("k >= 100", "k - hvd.rank() >= 100"),
    ],
)
def test_one_of_the_ranks_batches_decides(batches: str, test: str, after: str) -> None:
    text = plan_of(HEAD + "n = 160\n" + batches + LOOP.format(test)).text
    assert ("in shard(range(n)):" if batches is DRAWN else "in shard_batches(batches(160)):") in text
    assert f"    if {after}:\n" in text or f"    if any_rank({test}):\n" in text


@pytest.mark.parametrize(
    ("batches", "test"),
    [
        (RESTARTED, "k % 50 == 49"),  # begins again, within the batches of all ranks
        (DRAWN, "y[0] % 50 == 49"),  # a row
        (DRAWN.replace("yield k,", "yield k * 2,"), "k % 50 == 49"),  # goes on by two
    ],
)
def test_what_is_no_such_number(batches: str, test: str) -> None:
    assert "- hvd.rank()" not in plan_of(HEAD + batches + LOOP.format(test)).text
    assert "+ hvd.rank()) %" not in plan_of(HEAD + batches + LOOP.format(test)).text
