"""Batches of TensorFlow 1's tutorials: where each rank's order is its own, a rank draws no other rank's batches."""

from __future__ import annotations

import pytest

from tests.rules.pairs import plan_of

TEXT = """\
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
{seeds}
mnist = input_data.read_data_sets("data"{told})
x = tf.placeholder(tf.float32, [None, 784])
w = tf.get_variable("w", [784, 1])
loss = tf.reduce_mean(tf.matmul(x, w))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(500):
        rows, labels = {drawn}
        sess.run(train, {{x: rows}})
    {after}
"""


def text_of(**parts: str) -> str:
    told = {
        "seeds": "",
        "told": ", one_hot=True",
        "drawn": "mnist.train.next_batch(32)",
        "after": "pass",
    } | parts
    return plan_of(TEXT.format(**told)).text


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"drawn": "mnist.train.next_batch(batch_size=32)"},
        {"drawn": "mnist.train.next_batch(32, shuffle=True)"},
        {"told": ", seed=None"},
        {"after": "print(mnist.train.num_examples, mnist.test.images)"},
    ],
)
def test_each_rank_draws_its_own_where_no_seed_says_the_order(parts: dict[str, str]) -> None:
    text = text_of(**parts)
    assert "rows, labels = mnist.train.next_batch(" in text
    assert "for i in range(500 // hvd.size()):" in text
    assert "0.1 * hvd.size()" in text


@pytest.mark.parametrize(
    "parts",
    [
        {"told": ", seed=3"},
        {"told": ", **options"},
        {"seeds": "tf.set_random_seed(1)"},
        {"seeds": "import numpy as np\nnp.random.seed(1)"},
        {"drawn": "mnist.train.next_batch(32, shuffle=False)"},
        {"drawn": "mnist.train.next_batch(32, False, flag)"},
        {"after": "print(mnist.train.epochs_completed)"},
    ],
)
def test_batches_in_an_order_that_ranks_may_share_are_dealt_out(parts: dict[str, str]) -> None:
    assert "for _ in range(hvd.size())][hvd.rank()]" in text_of(**parts)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("read_data_sets", "load"),
        (
            "from tensorflow.examples.tutorials.mnist import input_data",
            "import input_data",
        ),  # a copy, maybe an old one
    ],
)
def test_those_of_another_function_are_dealt_out(old: str, new: str) -> None:
    parts = {"seeds": "", "told": "", "drawn": "mnist.train.next_batch(32)", "after": "pass"}
    text = plan_of(TEXT.format(**parts).replace(old, new)).text
    assert "for _ in range(hvd.size())][hvd.rank()]" in text
