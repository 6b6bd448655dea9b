"""S5: batches that a generator or an object fetches from a data set of the graph are divided once, where that is made."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
x = np.random.RandomState(0).rand(64, 4).astype("float32")
a = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean((tf.layers.dense(a, 1) - 1) ** 2)
train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
sess = tf.Session()
"""
PIPELINE = """\
dataset = tf.data.Dataset.from_tensor_slices(x).shuffle(64){more}.batch(4)
iterator = tf.data.make_initializable_iterator(dataset)
following = iterator.get_next()
"""
GENERATOR = """\
def batches(sess):
    sess.run(iterator.initializer)
    while True:
        try:
            yield sess.run(following)
        except tf.errors.OutOfRangeError:
            return
"""
CLASS = """\
class Data:
    def __init__(self, rows, sess):
        dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(64).batch(4)
        self.iterator = tf.data.make_initializable_iterator(dataset)
        self.batch, self.sess = self.iterator.get_next(), sess
        self.sess.run(self.iterator.initializer)
"""
NEXT = (
    CLASS
    + """\
    def __iter__(self):
        return self
    def __next__(self):
        try:
            return self.get()
        except tf.errors.OutOfRangeError:
            raise StopIteration
    def get(self):
        return self.sess.run(self.batch)
data = Data(x, sess)
"""
)
YIELDING = (
    CLASS
    + """\
    def __iter__(self):
        while True:
            try:
                yield self.sess.run(self.batch)
            except tf.errors.OutOfRangeError:
                return
data = Data(x, sess)
"""
)
LOOP = """\
sess.run(tf.global_variables_initializer())
steps = 0
for batch in {batches}:
    sess.run(train, {{a: batch}})
    steps += 1
    if steps % 8 == 0:
        tf.train.Saver().save(sess, "model", global_step=steps)
"""


@pytest.mark.parametrize(
    ("made", "batches"),
    [
        (PIPELINE.format(more="") + GENERATOR, "batches(sess)"),
        (NEXT, "data"),
        (YIELDING, "data"),
    ],
)
def test_they_are_divided_where_the_data_set_is_made(made: str, batches: str) -> None:
    text = plan_of(HEAD + made + LOOP.format(batches=batches)).text
    assert "shard_records(tf.data.Dataset.from_tensor_slices(" in text
    assert "shard_batches" not in text
    assert "if steps % max(1, 8 // hvd.size()) == 0 and hvd.rank() == 0:" in text


def test_no_more_than_its_own_are_asked_for() -> None:
    loop = "sess.run(tf.global_variables_initializer())\ngiven = batches(sess)\n"
    loop += "for step in range(64):\n    sess.run(train, {a: next(given)})\n"
    text = plan_of(HEAD + PIPELINE.format(more=".repeat()") + GENERATOR + loop).text
    assert "shard_records(" in text
    assert "{a: next(given)}" in text
    assert "range(64 // hvd.size())" in text or "range(max(1, 64 // hvd.size()))" in text


@pytest.mark.parametrize(
    "generator",
    [
        "def batches(sess):\n    for i in range(0, 64, 4):\n        yield x[i : i + 4]\n",
        "def batches(sess):\n    for i in range(0, 64, 4):\n        yield sess.run(tf.zeros((4, 4))) + x[i : i + 4]\n",
    ],
)
def test_other_batches_are_dealt_out(generator: str) -> None:
    text = plan_of(HEAD + generator + LOOP.format(batches="batches(sess)")).text
    assert "shard_batches(" in text or "shard(range(" in text
