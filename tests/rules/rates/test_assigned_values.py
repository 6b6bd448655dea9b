"""C5, G5: variables of a graph that sessions set to what goes by a count of steps, and that losses are made with."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow.compat.v1 as tf
x, new = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [])
beta = tf.Variable(0.0, trainable=False)
seen = tf.Variable(0, trainable=False)
w = tf.get_variable("w", [4, 1])
to, more = tf.assign(beta, new), tf.assign_add(seen, 1)
part = tf.reduce_mean(tf.square(tf.matmul(x, w)))
loss = part + {weight} * tf.reduce_sum(tf.square(w))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
data = np.load("rows.npy")
cur = 1.0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1000):
        {before}
        sess.run(train, {{x: data[np.random.randint(0, 900, 32)]}})
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sess.run(to, {new: min(1.0, i / 100)})", "sess.run(to, {new: min(1.0, i * hvd.size() / 100)})"),
        ("sess.run(tf.assign(beta, min(1.0, i / 100)))", "tf.assign(beta, min(1.0, i * hvd.size() / 100))"),
        ("beta.load(0.99 ** i, sess)", "beta.load(0.99 ** (i * hvd.size()), sess)"),
        ("v = i / 100; sess.run(to, {new: v})", "v = i * hvd.size() / 100; sess.run(to, {new: v})"),
        ("cur *= 0.99; sess.run(to, {new: cur})", "cur *= 0.99 ** hvd.size(); sess.run(to, {new: cur})"),
    ],
)
def test_a_weight_that_a_session_sets_goes_by_the_steps_of_all_ranks(before: str, after: str) -> None:
    text = plan_of(SOURCE.format(weight="beta", before=before)).text
    assert after in text
    assert "for i in range(1000 // hvd.size()):\n" in text


@pytest.mark.parametrize(
    ("weight", "before"),
    [
        ("0.1", "sess.run(to, {new: min(1.0, i / 100)})"),  # no loss is made with it
        ("beta", "sess.run(to, {new: 0.5})"),
        ("beta", "sess.run(more)"),  # another count
        ("beta", "beta.load(0.5, sess)"),
    ],
)
def test_what_weighs_no_loss_or_goes_by_no_count_is_left_alone(weight: str, before: str) -> None:
    assert f"        {before}\n" in plan_of(SOURCE.format(weight=weight, before=before)).text
