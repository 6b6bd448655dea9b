"""D1, G4: what a loop draws beside the rows that it trains on, for a sample, say, is left whole."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
held = tf.data.Dataset.from_tensor_slices((np.load("hx.npy"), np.load("hy.npy"))).batch(16).repeat()
rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
kept = []
def error(p, q):
    return tf.reduce_mean((model(p) - q) ** 2)
def step(p, q):
    with tf.GradientTape() as tape:
        loss = error(p, q)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
def sample(p):
    return model(p) * 255
def keep(p):
    kept.append(p)
samples = iter(held)
{loop}
"""
BY_DATASET = """\
for epoch in range(9):
    for a, b in rows:
        step(a, b)
        if opt.iterations.numpy() % 100 == 0:
            {}
"""
BY_NEXT = """\
batches = iter(rows.repeat())
for i in range(500):
    a, b = next(batches)
    step(a, b)
    if i % 100 == 0:
        {}
"""


def divides_held(loop: str) -> bool:
    text = plan_of(PROGRAM.format(loop=loop)).text
    assert "shard(hvd.size(), hvd.rank())" in text
    line = next(n for n in text.splitlines() if n.startswith("held = "))
    return "shard" in line or "iter(held)" not in text or "next(samples) for _" in text


@pytest.mark.parametrize("loop", [BY_DATASET, BY_NEXT])
@pytest.mark.parametrize(
    "use",
    [
        "a, b = next(samples); np.save('a.npy', sample(a).numpy())",
        "c, d = next(samples); image = sample(c); np.save('c.npy', np.concatenate([image, c]))",
        "c, d = next(samples); print(float(error(c, d)))",
    ],
)
def test_what_is_shown_is_the_same_as_before(loop: str, use: str) -> None:
    """The names are those of the batch, too, and both go through the same functions."""
    assert not divides_held(loop.format(use))


@pytest.mark.parametrize("loop", [BY_DATASET, BY_NEXT])
@pytest.mark.parametrize(
    "use",
    [
        "a, b = next(samples); step(a, b)",
        "c, d = next(samples); a = c; step(a, b)",
        "for c in next(samples): step(c, c)",
    ],
)
def test_what_is_trained_on_is_divided(loop: str, use: str) -> None:
    assert divides_held(loop.format(use))


@pytest.mark.parametrize("keeping", ["kept.append(c)", "keep(c)"])
def test_what_is_kept_may_be_trained_on_later(keeping: str) -> None:
    assert divides_held(BY_NEXT.format(f"c, d = next(samples); {keeping}"))


def test_what_is_set_for_the_next_turn_is_divided() -> None:
    loop = "c, d = next(samples)\nfor a, b in rows:\n    step(c, d)\n    c, d = next(samples)\n"
    assert divides_held(loop)
