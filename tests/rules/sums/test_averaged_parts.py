"""Which parts of a measured number are averaged over the ranks: the root of a mean is not the mean of roots."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import math
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(256, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.Adam(1e-3)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).batch(16)
best = 1e9
for epoch in range(20):
    losses, total, hits, missed, n = [], 0.0, 0, 0, 0
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(a) - b))
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        losses.append(loss.numpy())
        total += float(loss)
        hits += int(tf.reduce_sum(tf.cast(model(a) > b, tf.int32)))
        missed += int(tf.reduce_sum(tf.cast(model(a) < 0.1, tf.int32)))
        n += len(a)
    now = {measured}
    if now < best:
        best = now
    else:
        break
"""


@pytest.mark.parametrize(
    ("measured", "averaged"),
    [
        ("math.sqrt(total / n)", "math.sqrt(mean_over_ranks(total / n))"),
        ("np.exp(np.mean(losses))", "np.exp(mean_over_ranks(np.mean(losses)))"),
        ("(total / n) ** 0.5", "(mean_over_ranks(total / n)) ** 0.5"),
        ("-10 * np.log10(np.mean(losses))", "-10 * np.log10(mean_over_ranks(np.mean(losses)))"),
        ("math.log(math.sqrt(total / n))", "math.log(math.sqrt(mean_over_ranks(total / n)))"),
        ("float(tf.sqrt(tf.reduce_mean(losses)))", "float(tf.sqrt(mean_over_ranks(tf.reduce_mean(losses))))"),
        (
            "2 * hits / (2 * hits + missed)",
            "mean_over_ranks(2 * hits) / (mean_over_ranks(2 * hits + missed))",
        ),
    ],
)
def test_what_bends_a_number_is_given_the_mean(measured: str, averaged: str) -> None:
    """`rmse`, a perplexity, an F1: each was the mean of the ranks' own."""
    assert f"now = {averaged}\n" in plan_of(PROGRAM.format(measured=measured)).text


@pytest.mark.parametrize(
    "measured",
    [
        "total / n",
        "100.0 * hits / n",
        "sum(losses) / len(losses)",
        "np.mean(np.sqrt(losses))",  # the mean of roots, as one process takes it
        "float(tf.sqrt(total / n))",  # it would be given a number of another type
        "abs(total / n)",
    ],
)
def test_what_does_not_bend_it_is_averaged_whole(measured: str) -> None:
    """Near misses."""
    assert f"now = mean_over_ranks({measured})\n" in plan_of(PROGRAM.format(measured=measured)).text
