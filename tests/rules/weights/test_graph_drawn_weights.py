"""S2: weights of a graph that are set to random numbers while it is trained."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
w = tf.Variable(tf.zeros([4, 1]))
noisy = tf.Variable(tf.zeros([4, 1]), trainable=False)
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
{made}
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(1000):
    sess.run(train, {{x: draw()}})
    {runs}
{after}
"""


def asked(made: str, runs: str, after: str = "") -> int:
    plan = plan_of(PROGRAM.format(made=made, runs=runs, after=after))
    return sum("random numbers of its own" in str(c.doubt) for c in plan.to_confirm)


@pytest.mark.parametrize(
    ("made", "runs"),
    [
        ("op = w.assign_add(0.01 * tf.random_normal([4, 1]))", "sess.run(op)"),
        (
            "op = tf.group(*[v.assign_add(tf.random_normal(v.shape)) for v in tf.trainable_variables()])",
            "sess.run(op)",
        ),
        (
            "op = tf.assign(w, 0.9 * w + 0.1 * tf.truncated_normal([4, 1]))",
            "if step % 100 == 0: sess.run(op)",
        ),
        ("pass", "sess.run(w.initializer)"),
        ("pass", "w.load(np.random.normal(size=(4, 1)), sess)"),
    ],
)
def test_it_is_asked_about(made: str, runs: str) -> None:
    assert asked(made, runs) == 1


@pytest.mark.parametrize(
    ("made", "runs", "after"),
    [
        ("op = noisy.assign(tf.random_normal([4, 1]))", "sess.run(op)", ""),  # no weights
        ("op = w.assign(tf.clip_by_value(w, -1.0, 1.0))", "sess.run(op)", ""),
        ("op = w.assign_add(tf.random_normal([4, 1]))", "pass", "sess.run(op)"),  # after training
        ("pass", "w.load(np.zeros((4, 1)), sess)", ""),
    ],
)
def test_what_leaves_all_ranks_the_same_is_not(made: str, runs: str, after: str) -> None:
    assert asked(made, runs, after) == 0
