"""G4, S5: a queue that each round fills is emptied by a rank's share of the turns, each of which takes size() batches."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import multiprocessing as mp
import queue
import numpy as np
import tensorflow as tf
X = np.random.RandomState(0).rand(640, 4)
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
class Batches:
    def next_rows_batch(self):
        for i in range(0, 640, 32):
            yield X[i : i + 32]
batches = Batches()
"""
ROUND = """\
def train(sess):
    ready = {queue}()
    n = 0
    for rows in batches.next_rows_batch():
        ready.put(rows)
        {counted}
    for i in range(n):
        rows = ready.get()
        sess.run(train_op, {{x: rows}})
"""
MEASURE = """\
def measure(sess):
    answers = {queue}()
    n = 0
    for i in range(20):
        answers.put(sess.run(loss, {{x: X[i : i + 1]}}))
        n += 1
    total = 0.0
    for _ in range(n):
        total += answers.get()
    print(total / n)
"""
MAIN = """\
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(10):
        train(sess)
        measure(sess)
"""


@pytest.mark.parametrize("kind", ["mp.Queue", "queue.Queue", "mp.JoinableQueue"])
@pytest.mark.parametrize("counted", ["n += 1", "n = n + 1"])
def test_the_loop_that_empties_the_queue_is_divided(kind: str, counted: str) -> None:
    """With as many turns as before, each rank would wait for batches that nobody puts in."""
    program = ROUND.format(queue=kind, counted=counted) + MEASURE.format(queue=kind) + MAIN
    text = plan_of(HEAD + program).text
    assert "    for i in range(min(n, max(1, n // hvd.size()))):\n" in text
    assert "        rows = [ready.get() for _ in range(hvd.size())][hvd.rank()]\n" in text
    assert "    for epoch in range(10):\n" in text


@pytest.mark.parametrize("kind", ["mp.Queue", "queue.Queue"])
def test_a_queue_of_answers_is_not_dealt_out(kind: str) -> None:
    """Near miss: every rank measures all, and takes all of its own answers."""
    program = ROUND.format(queue=kind, counted="n += 1") + MEASURE.format(queue=kind) + MAIN
    text = plan_of(HEAD + program).text
    assert "        total += answers.get()\n" in text
    assert "    for _ in range(n):\n" in text


def test_a_short_loop_of_a_round_stays() -> None:
    """Near miss: five steps for each of the round's others, a proportion."""
    program = """\
ready = queue.Queue()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(1000):
        rows = ready.get()
        sess.run(train_op, {x: rows})
        for _ in range(5):
            rows = ready.get()
            sess.run(train_op, {x: rows})
"""
    text = plan_of(HEAD + program).text
    assert "        for _ in range(5):\n" in text
    assert "    for step in range(1000 // hvd.size()):\n" in text
