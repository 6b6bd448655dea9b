"""Turns of a loop that give a session's variables new values each train for themselves: they are no batches of one training."""

from __future__ import annotations

import pytest

from .pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 8])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = tf.train.AdamOptimizer(0.01).minimize(loss)
init = tf.global_variables_initializer()
tasks = np.load("x.npy")
def begin():
    sess.run(tf.global_variables_initializer())
def once(i):
    if i == 0:
        sess.run(init)
sess = tf.Session()
"""


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(len(tasks)):\n    sess.run(init)\n    for step in range(200):\n"
        "        sess.run(train, {x: tasks[i]})\n",
        "for task in tasks:\n    rows = task[1:]\n    sess.run(init)\n    for step in range(200):\n"
        "        sess.run(train, {x: rows})\n",
        "for task in tasks:\n    begin()\n    for step in range(200):\n        sess.run(train, {x: task})\n",
        "for task in tasks:\n    mine = [v for v in tf.global_variables() if 'dense' in v.name]\n"
        "    _ = sess.run(tf.variables_initializer(mine))\n    for step in range(200):\n        sess.run(train, {x: task})\n",
        "def fit(rows):\n    sess.run(init)\n    for step in range(200):\n        sess.run(train, {x: rows})\n"
        "for task in tasks:\n    fit(task)\n",
        "for i in range(len(tasks)):\n    with tf.device('/cpu:0'):\n        sess.run(init)\n    for step in range(200):\n"
        "        sess.run(train, {x: tasks[i]})\n",
        "if len(tasks) > 1:\n    for task in tasks:\n        sess.run(init)\n        for step in range(200):\n"
        "            sess.run(train, {x: task})\n",
    ],
)
def test_tasks_are_not_dealt_out(loop: str) -> None:
    plan = plan_of(HEAD + loop)
    after = plan.text[plan.text.index("sess = tf.Session(") :]
    assert not any(helper in after for helper in ("shard(", "rounds(", "[hvd.rank()"))
    assert any("same rows" in c.doubt for c in plan.changes if not c.sure)


@pytest.mark.parametrize(
    "loop",
    [
        # begun once
        "sess.run(init)\nfor i in range(len(tasks)):\n    sess.run(train, {x: tasks[i]})\n",
        "for i in range(len(tasks)):\n    if i == 0:\n        sess.run(init)\n    sess.run(train, {x: tasks[i]})\n",
        "for i in range(len(tasks)):\n    once(i)\n    sess.run(train, {x: tasks[i]})\n",
        # in each run, whose batches are dealt out
        "for fold in range(5):\n    sess.run(init)\n    for i in range(len(tasks)):\n        sess.run(train, {x: tasks[i]})\n",
        # what is measured with begins anew
        "sess.run(init)\nfor i in range(len(tasks)):\n    sess.run(tf.local_variables_initializer())\n"
        "    sess.run(train, {x: tasks[i]})\n",
        "sess.run(init)\nmine = tf.get_collection(tf.GraphKeys.LOCAL_VARIABLES)\nfor i in range(len(tasks)):\n"
        "    sess.run(tf.variables_initializer(mine))\n    sess.run(train, {x: tasks[i]})\n",
    ],
)
def test_batches_are(loop: str) -> None:
    plan = plan_of(HEAD + loop)
    assert "for i in shard(range(len(tasks))):" in plan.text or "in rounds(range(len(tasks))):" in plan.text
