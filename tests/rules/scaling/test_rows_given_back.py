"""Strong scaling: what a step gives back of its rows, set beside all rows, fits them only where no rank computes a share."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

FULL = """\
import numpy as np
import tensorflow as tf
from sklearn.metrics import roc_auc_score
x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.float32, [None, 1])
guess = tf.layers.dense(x, 1)
loss = tf.reduce_mean(tf.square(guess - y))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
rows, targets = np.load("x.npy"), np.load("y.npy")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(900):
        feed = {x: rows, y: targets}
        _, now, seen = sess.run([train, loss, guess], feed_dict=feed)
        EVERY
"""


@pytest.mark.parametrize(
    "every",
    [
        "score = roc_auc_score(targets, seen)",
        "score = np.mean(seen.round() == targets)",
        "score = np.mean((targets - seen) ** 2)",
        "score = roc_auc_score(targets[:, 0], seen.ravel())",
    ],
)
def test_rows_stay_whole(every: str) -> None:
    plan = plan_of(FULL.replace("EVERY", every))
    assert "share_rows" not in plan.text
    assert "0.01 * hvd.size()" not in plan.text
    assert any("set beside all rows here" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    "every",
    [
        "print(now)",
        "print(now, len(targets))",
        "history.append((now, targets.shape))",
        "score = now / len(targets)",
        "score = roc_auc_score(targets, sess.run(guess, {x: rows}))",
        "score = roc_auc_score(other, seen)",
    ],
)
def test_near_misses(every: str) -> None:
    plan = plan_of(FULL.replace("EVERY", every))
    assert "feed = {x: share_rows(rows), y: share_rows(targets)}" in plan.text
