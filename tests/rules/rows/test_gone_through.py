"""D3: data sets that Python goes through to give the batches that ranks take in turns come in one order on all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import itertools
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).shuffle(640).batch(4)
other = tf.data.Dataset.from_tensor_slices(np.load("z.npy")).shuffle(64).batch(4)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    weights = model.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""
FEED = "def feed(n):\n    for epoch in range(n):\n        {}\n"
SEEDED = "shuffle(640, seed=0 if hvd.size() > 1 else None)"


@pytest.mark.parametrize(
    "loop",
    [
        FEED.format("for i, b in enumerate(ds):\n            yield i, b")
        + "for i, (x, y) in feed(4):\n    step(x, y)\n",
        FEED.format("yield from ds") + "for x, y in feed(4):\n    step(x, y)\n",
        FEED.format("it = iter(ds)\n        for _ in range(9):\n            yield next(it)")
        + "batches = feed(4)\nfor x, y in batches:\n    step(x, y)\n",
        "for x, y in itertools.islice(itertools.cycle(ds), 200):\n    step(x, y)\n",
        "for x, y in itertools.chain(ds, ds):\n    step(x, y)\n",
        "for x, y in ((a * 2, b) for a, b in ds if len(a) == 4):\n    step(x, y)\n",
        "for (x, y), z in zip(itertools.cycle(ds), other):\n    step(x, y + 0 * z)\n",
    ],
)
def test_what_is_dealt_out_comes_in_one_order(loop: str) -> None:
    text = plan_of(HEAD + loop).text
    assert "shard_batches(" in text
    assert SEEDED in text


def test_large_batches_of_which_each_is_divided_come_in_one_order() -> None:
    """Each rank took its part of large batches of an order of its own."""
    loop = """\
for big, labels in ds:
    part = tf.data.Dataset.from_tensor_slices((big * 2, labels)).shuffle(4).batch(2)
    for x, y in part:
        step(x, y)
"""
    text = plan_of(HEAD + loop).text
    assert SEEDED in text
    assert "shuffle(4)" in text


@pytest.mark.parametrize("batches", ["ds", "((a * 2, b) for a, b in ds)"])
def test_what_is_divided_where_it_is_made_needs_no_order(batches: str) -> None:
    text = plan_of(HEAD + f"for x, y in {batches}:\n    step(x, y)\n").text
    assert "shuffle(640)" in text


def test_what_a_generator_only_looks_at_is_left() -> None:
    text = plan_of(
        HEAD + FEED.format("for b in ds:\n            yield b") + "for x, y in feed(4):\n    step(x, y)\n"
    ).text
    assert "shuffle(64)" in text
