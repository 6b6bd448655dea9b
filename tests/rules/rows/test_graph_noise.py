"""D3: noise that a graph draws by a seed, and that a model is given alone, beside rows that are fed."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import argparse
import numpy as np
import tensorflow.compat.v1 as tf
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
args = parser.parse_args()
{seeded}
data = np.load("rows.npy")
x = tf.placeholder(tf.float32, [None, 6])
def generator(z):
    with tf.variable_scope("g"):
        return tf.layers.dense(z, 6)
{noise}
loss = tf.reduce_mean(tf.layers.dense(x, 1)) - tf.reduce_mean(tf.layers.dense(made, 1))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    {before}
    for epoch in range(9):
        for i in range(90):
            sess.run(train, {{x: data[i * 32:i * 32 + 32]}})
"""
SEEDED = "tf.set_random_seed(7)"
APART = "tf.set_random_seed(7 + hvd.rank())"
NOISE = "made = generator(tf.random_normal([32, 4]))"


def text(noise: str, seeded: str = SEEDED, before: str = "pass") -> str:
    plan = plan_of(SOURCE.format(noise=noise, seeded=seeded, before=before))
    assert not plan.to_confirm
    return plan.text


def asked(noise: str, seeded: str = SEEDED, before: str = "pass") -> list[str]:
    return [
        change.doubt
        for change in plan_of(SOURCE.format(noise=noise, seeded=seeded, before=before)).to_confirm
    ]


@pytest.mark.parametrize(
    "noise",
    [
        NOISE,
        "z = tf.random_uniform([32, 4], -1, 1)\nmade = generator(z)",
        "z = 2 * tf.random_uniform([32, 4]) - 1\nmade = generator(z=z)",
        "made = tf.layers.dense(tf.reshape(tf.random_normal([128]), [32, 4]), 6)",
        "made = tf.matmul(tf.random_normal([32, 4]), tf.Variable(tf.ones([4, 6])))",
        "z = tf.concat([tf.random_normal([32, 4]), tf.one_hot(tf.zeros([32], tf.int32), 3)], 1)\nmade = generator(z)",
        "def draw():\n    return tf.random_normal([32, 4])\nmade = generator(draw())",
        "z = tf.random_normal([tf.shape(x)[0], 4])\nmade = generator(z)",  # as much of it as there are rows
    ],
)
def test_what_a_generator_learns_from_is_another_on_each_rank(noise: str) -> None:
    assert APART in text(noise)


def test_noise_with_a_seed_of_its_own() -> None:
    made = text("made = generator(tf.random_normal([32, 4], seed=3))")
    assert "tf.random_normal([32, 4], seed=3 + hvd.rank())" in made
    assert SEEDED in made


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "noise",
    [
        "made = tf.layers.dense(x + tf.random_normal(tf.shape(x)), 6)",  # rows, which differ
        "made = tf.layers.dense(tf.nn.dropout(x, 0.5), 6)",
        "m = tf.layers.dense(x, 6)\nmade = m + tf.exp(m) * tf.random_normal(tf.shape(m))",
        "made = tf.matmul(x, tf.Variable(tf.random_normal([6, 6])))",  # weights
        "made = tf.layers.dense(x, 6, kernel_initializer=tf.random_normal_initializer())",
        "shown = generator(tf.random_normal([32, 4]))\nmade = tf.layers.dense(x, 6)",  # trained by nothing
    ],
)
def test_noise_that_goes_with_rows_or_trains_nothing_stays(noise: str) -> None:
    assert SEEDED in text(noise)


def test_without_a_seed_each_rank_draws_its_own() -> None:
    assert "hvd.rank())" not in [line for line in text(NOISE, "").splitlines() if "random" in line]


@pytest.mark.parametrize(
    "before", ["order = sess.run(tf.random_shuffle(tf.range(90)))", "n = sess.run(tf.random_uniform([]))"]
)
def test_a_seed_by_which_more_is_drawn_is_asked(before: str) -> None:
    assert any(
        "by another one on each rank they would draw an order" in doubt
        for doubt in asked(NOISE, before=before)
    )


def test_a_shuffle_of_numpys_is_none_of_the_graph() -> None:
    assert APART in text(NOISE, SEEDED + "\nnp.random.seed(1)", "np.random.shuffle(data)")


def test_a_seed_that_may_be_none_is_asked() -> None:
    """`None + hvd.rank()` would be an error."""
    assert any(
        "where a seed is given here" in doubt for doubt in asked(NOISE, "tf.set_random_seed(args.seed)")
    )
