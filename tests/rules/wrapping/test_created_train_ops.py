"""S2: slim's `create_train_op(loss, optimizer)` computes and applies gradients by the optimizer that it is given."""

from __future__ import annotations

import pytest

from ..pairs import doubts, only, plan_of, refused
from ..sessions import INIT, LOSS

SLIM = "slim = tf.contrib.slim\n"
LOOP = "for i in range(500):\n    value = sess.run(train, {x: draw()})\n"


def program(created: str, loop: str = LOOP, head: str = SLIM) -> str:
    return LOSS + head + created + "sess = tf.Session()\n" + INIT + loop


@pytest.mark.parametrize(
    ("head", "function"),
    [
        (SLIM, "slim.learning.create_train_op"),
        ("import tf_slim as slim\n", "slim.learning.create_train_op"),
        ("", "tf.contrib.training.create_train_op"),
        ("from tensorflow.contrib import slim\n", "slim.learning.create_train_op"),
    ],
)
def test_the_optimizer_is_wrapped_where_it_is_made(head: str, function: str) -> None:
    created = f"optimizer = tf.train.AdamOptimizer(0.1)\ntrain = {function}(loss, optimizer=optimizer)\n"
    text = only(plan_of(program(created, head=head)), "S2", "C5")
    assert "optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size()))" in text
    assert f"train = {function}(loss, optimizer=optimizer)" in text


def test_one_that_is_made_in_the_call() -> None:
    text = plan_of(program("train = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.1))\n")).text
    assert "create_train_op(loss, hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size())))" in text
    assert "for i in range(500 // hvd.size()):" in text


def test_one_that_is_not_seen() -> None:
    refused(program("train = slim.learning.create_train_op(loss, made())\n"), "HVD105")


def test_it_counts_the_graphs_global_step() -> None:
    created = (
        "step = tf.train.get_or_create_global_step()\nrate = tf.train.exponential_decay(0.1, step, 1000, 0.9)\n"
        "train = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(rate))\n"
    )
    loop = (
        LOOP + "    n = sess.run(step)\n    if n % 100 == 0:\n        tf.train.Saver().save(sess, 'model')\n"
    )
    text = plan_of(program(created, loop)).text
    assert "exponential_decay(0.1 * hvd.size(), step, 1000 / hvd.size(), 0.9)" in text
    assert "if n % max(1, 100 // hvd.size()) == 0" in text


def test_what_a_run_of_it_gives_is_a_ranks_own_loss() -> None:
    created = "train = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.1))\n"
    plan = plan_of(program(created, LOOP + "    if value < 0.1:\n        break\n"))
    assert doubts(plan, "S5") or "mean_over_ranks(value) < 0.1" in plan.text


def test_the_loop_of_slim_is_refused_with_what_it_does() -> None:
    created = "train = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.1))\n"
    loop = "slim.learning.train(train, 'logs', number_of_steps=100)\n"
    refused(LOSS + SLIM + created + loop, "HVD202", "managed_session()")


def test_losses_that_the_graph_collects_are_made_of_its_rows() -> None:
    collected = (
        "import tensorflow as tf\n"
        "names = tf.train.string_input_producer(['a', 'b'])\n_, row = tf.TFRecordReader().read(names)\n"
        "x = tf.train.shuffle_batch([tf.decode_raw(row, tf.float32)], 16, 1000, 200)\n"
        "tf.losses.mean_squared_error(x, tf.layers.dense(x, 3))\n"
        "train = tf.train.AdamOptimizer(0.1).minimize(tf.losses.get_total_loss())\n"
        "sess = tf.Session()\n" + INIT + "for i in range(500):\n    sess.run(train)\n"
    )
    text = plan_of(collected).text
    assert "for i in range(500 // hvd.size()):" in text
    assert "AdamOptimizer(0.1 * hvd.size())" in text
