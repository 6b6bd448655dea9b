"""D3: seeds by which a graph draws the rows of its steps."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of

SOURCE = """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.set_random_seed(7)
data = np.load("rows.npy")
first = tf.Variable(tf.random_normal([6, 1]))
{rows}
train = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.matmul(x, first) ** 2))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3000):
        sess.run({run})
"""
PICKED = "x = tf.gather(tf.constant(data), tf.random_uniform([32], 0, 900, tf.int32{seed}))"


def test_rows_that_are_drawn_by_the_seed_of_the_graph() -> None:
    assert (
        "tf.set_random_seed(7 + hvd.rank())"
        in plan_of(SOURCE.format(rows=PICKED.format(seed=""), run="train")).text
    )


def test_rows_that_are_drawn_by_a_seed_of_their_own() -> None:
    text = plan_of(SOURCE.format(rows=PICKED.format(seed=", seed=3"), run="train")).text
    assert "tf.int32, seed=3 + hvd.rank())" in text
    assert "tf.set_random_seed(7)" in text


@pytest.mark.parametrize(
    ("rows", "run"),
    [
        ("x = tf.placeholder(tf.float32, [None, 6])", "train, {x: data[np.random.randint(0, 900, 32)]}"),
        (
            "x = tf.data.Dataset.from_tensor_slices(data).shuffle(900).repeat().batch(32).make_one_shot_iterator().get_next()"
            " + tf.random_normal([6])",
            "train",
        ),
    ],
)
def test_where_rows_come_from_elsewhere_the_seed_stays(rows: str, run: str) -> None:
    plan = plan_of(SOURCE.format(rows=rows, run=run))
    assert "tf.set_random_seed(7)" in plan.text
    assert not [c for c in changes(plan, "D3") if "seed" in plan.document.text[c.span.start : c.span.end]]


def test_without_a_seed_each_rank_draws_its_own() -> None:
    source = SOURCE.replace("tf.set_random_seed(7)\n", "").format(rows=PICKED.format(seed=""), run="train")
    assert not changes(plan_of(source), "D3")


FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
{seed}
turn = tf.placeholder(tf.int32, shape=None)
noise = tf.layers.dense(tf.random_normal([8, 3]), 4)
rate = 0.01 * tf.maximum(0.0, 1 - tf.cast(turn, tf.float32) / 3000)
train = tf.train.AdamOptimizer(rate).minimize(tf.reduce_mean(noise ** 2))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3000):
        sess.run([train], feed_dict={{turn: step}})
"""


def test_a_step_that_is_fed_its_number_draws_its_rows_in_the_graph() -> None:
    """A generator's, beside those of what it deceives: no rank is given rows there."""
    plan = plan_of(FED.format(seed=""))
    assert not [c for c in plan.changes if not c.sure]
    seeded = plan_of(FED.format(seed="tf.set_random_seed(7)"))
    assert "tf.set_random_seed(7 + hvd.rank())" in seeded.text
    assert not [c for c in seeded.changes if not c.sure]
