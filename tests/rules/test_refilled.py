"""Batches that are the same arrays again, filled with other rows: of several taken at once, each held the rows of the last,
and all ranks trained on the same."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

FIT = """\
import numpy as np
import tensorflow as tf

np.random.seed(0)
xs, ys = np.load("xs.npy"), np.load("ys.npy")


def batches(size):
    {before}
    while True:
        {each}
        for index in np.random.permutation(len(xs)):
            rows[i], wanted[i] = xs[index], ys[index]
            i += 1
            if i == size:
                i = 0
                {last}


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches(8), steps_per_epoch=64, epochs=2)
"""
MADE = "rows, wanted, i = np.empty((size, 4)), np.empty((size, 1)), 0"
SESSION = """\
import numpy as np
import tensorflow.compat.v1 as tf


class Data:
    def __init__(self, rows, size):
        self.rows, self.size, self.at = rows, size, 0
        self.batch = np.empty((size, rows.shape[1]), "float32")

    def next_batch(self):
        {made}for i in range(self.size):
            self.batch[i] = self.rows[self.at]
            self.at = (self.at + 1) % len(self.rows)
        return {given}


data = Data(np.load("rows.npy"), 16)
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
step = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(100):
        sess.run(step, {{x: data.next_batch()}})
"""


def distributed(text: str) -> str:
    outcome = distribute(summarize(Document(text, "train.py")))
    assert isinstance(outcome, Plan), outcome
    compile(outcome.text, "distributed", "exec")
    return outcome.text


# ---------------------------------------------------------------------- near misses: arrays of their own


@pytest.mark.parametrize(
    ("before", "each", "last"),
    [
        (MADE, "pass", "yield rows.copy(), wanted.copy()"),
        (MADE, "pass", "yield np.array(rows), np.array(wanted)"),
        (MADE, "pass", f"yield rows, wanted\n                {MADE}"),
    ],
)
def test_batches_that_are_made_anew_are_left(before: str, each: str, last: str) -> None:
    text = distributed(FIT.format(before=before, each=each, last=last))
    assert "shard_batches(batches(8))" in text
    assert "deepcopy" not in text


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ("", "self.batch.copy()"),
        ("", "self.batch * 1.0"),
        ("self.batch = np.empty((self.size, 4))\n        ", "self.batch"),
    ],
)
def test_calls_that_give_arrays_of_their_own_are_left(made: str, given: str) -> None:
    text = distributed(SESSION.format(made=made, given=given))
    assert "[data.next_batch() for _ in range(hvd.size())][hvd.rank()]" in text


# ---------------------------------------------------------------------- the same arrays again


@pytest.mark.parametrize(
    ("before", "each"), [(MADE, "pass"), ("i = 0", MADE), ("global rows, wanted\n    i = 0", MADE)]
)
def test_batches_of_a_generator_are_copied_before_the_next_is_asked_for(before: str, each: str) -> None:
    text = distributed(FIT.format(before=before, each=each, last="yield rows, wanted"))
    assert "\nimport copy\n" in text
    assert "model.fit(shard_batches(map(copy.deepcopy, batches(8))), " in text


@pytest.mark.parametrize("given", ["self.batch", "self.batch[:16]", "{'x': self.batch}", "(self.batch, 3)"])
def test_batches_of_calls_are_copied(given: str) -> None:
    text = distributed(SESSION.format(made="", given=given))
    assert "[copy.deepcopy(data.next_batch()) for _ in range(hvd.size())][hvd.rank()]" in text


def test_one_batch_is_taken_at_a_time_where_each_rank_draws_its_own() -> None:
    text = distributed(
        FIT.format(before=MADE, each="pass", last="yield rows, wanted").replace("np.random.seed(0)\n", "")
    )
    assert "deepcopy" not in text
    assert "model.fit(batches(8), " in text
