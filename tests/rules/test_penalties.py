"""Penalties of weights beside what a loss is over rows, in steps that see all rows."""

from __future__ import annotations

import pytest

from .pairs import plan_of, refused

WITH_PENALTY = """\
import numpy as np
import tensorflow as tf
rows = np.load("x.npy")
x = tf.placeholder(tf.float32, [None, 3])
out = tf.layers.dense(x, 1)
penalty = 0.01 * tf.nn.l2_loss(tf.trainable_variables()[0])
{loss}
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(100):
    sess.run(train, {{x: rows}})
"""


@pytest.mark.parametrize(
    "loss",
    [
        "loss = tf.reduce_sum(out) + penalty",
        "loss = tf.add_n([tf.reduce_sum(out), penalty])",
        "loss = tf.reduce_sum(out)\nloss += penalty",
    ],
)
def test_a_penalty_is_not_added_up_over_the_ranks_with_a_sum(loss: str) -> None:
    refused(WITH_PENALTY.format(loss=loss), "HVD006", "a sum over rows and something beside it")


@pytest.mark.parametrize(
    "loss",
    [
        "loss = tf.add_n([tf.reduce_sum(out), tf.reduce_sum(tf.abs(out))])",
        "loss = tf.reduce_sum(out)\nloss += 1.0",
    ],
)
def test_sums_over_rows_and_numbers_are_added_up(loss: str) -> None:
    assert "op=hvd.Sum" in plan_of(WITH_PENALTY.format(loss=loss)).text


def test_a_penalty_beside_a_mean_is_the_same_on_all_ranks() -> None:
    text = plan_of(WITH_PENALTY.format(loss="loss = tf.reduce_mean(out)\nloss += penalty")).text
    assert "share_rows(rows)" in text
    assert "op=hvd.Sum" not in text
