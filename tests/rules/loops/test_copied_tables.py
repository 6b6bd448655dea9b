"""S5: what a table holds is known where it is a copy of another: which of its operations train is, too."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
X = np.random.RandomState(0).rand(640, 4).astype("float32")
def inputs():
    iterator = tf.data.Dataset.from_tensor_slices(X).batch(32).make_initializable_iterator()
    return {{"x": iterator.get_next(), "begin": iterator.initializer}}
def build(given):
    given["loss"] = tf.reduce_mean(tf.layers.dense(given["x"], 1) ** 2)
    spec = {copy}
    spec["train_op"] = tf.train.AdamOptimizer(0.01).minimize(given["loss"])
    return spec
def train(sess, spec, steps):
    sess.run(spec["begin"])
    for i in range(steps):
        sess.run(spec["train_op"])
def measure(sess, spec):
    sess.run(spec["begin"])
    return sess.run(spec["loss"])
spec = build(inputs())
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(10):
        train(sess, spec, 640 // 32)
        print(measure(sess, spec))
"""


@pytest.mark.parametrize(
    "copy",
    [
        "dict(given)",
        "given.copy()",
        "{**given}",
        "dict(given, name=1)",
        "dict(**given)",
        "dict(dict(given))",
        "given",
    ],
)
def test_the_steps_of_an_epoch_are_divided(copy: str) -> None:
    """What begins the iterator would be taken for a step, were it not known, and the epochs divided."""
    text = plan_of(PROGRAM.format(copy=copy)).text
    assert "    for i in range(max(1, steps // hvd.size())):\n" in text
    assert "    for epoch in range(10):\n" in text


def test_what_is_copied_from_elsewhere_may_be_anything() -> None:
    """Near miss: what `spec["begin"]` runs can't be seen, and the table holds a train op."""
    text = plan_of(PROGRAM.format(copy="dict(load())")).text
    assert "    for i in range(max(1, steps // hvd.size())):\n" not in text
