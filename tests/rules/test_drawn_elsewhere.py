"""Functions that a graph or workers run draw for themselves: there no rank can be asked what the others drew."""

from __future__ import annotations

import pytest

from .pairs import TF, plan_of

GRAPH = TF.replace("import tensorflow", "import random\nimport numpy as np\nimport tensorflow") + (
    "{}"
    "x, y = tf.train.shuffle_batch(one, batch_size=8, capacity=90, min_after_dequeue=0, shapes=[(2, 2), (2,)])\n"
    "train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2))\n"
    "with tf.Session() as sess:\n    sess.run(tf.global_variables_initializer())\n    tf.train.start_queue_runners(sess)\n"
    "    for i in range(9000):\n        sess.run(train)\n"
)
DRAW = "names = list('abc')\n    random.shuffle(names)\n    return rows_of(names[:2])\n"


@pytest.mark.parametrize(
    "made",
    [
        f"def draw():\n    {DRAW}one = tf.py_func(draw, [], [tf.float32, tf.int32])\n",
        f"def draw():\n    {DRAW}one = tf.py_func(func=draw, inp=[], Tout=[tf.float32, tf.int32])\n",
        f"def task():\n    {DRAW}def draw():\n    return task()\none = tf.numpy_function(draw, [], [tf.float32, tf.int32])\n",
        "class Tasks:\n    def get(self):\n        names = list('abc')\n        random.shuffle(names)\n"
        "        return rows_of(names[:2])\n"
        "    def batch(self):\n        return tf.py_func(self.get, [], [tf.float32, tf.int32])\none = Tasks().batch()\n",
    ],
)
def test_tasks_that_a_graph_draws(made: str) -> None:
    assert "alike" not in plan_of(GRAPH.format(made)).text


FIT = (
    "import numpy as np\nimport tensorflow as tf\nfrom multiprocessing import Pool\nimport threading\n"
    "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
    "def load(path):\n    rows = np.load(path)\n    np.random.shuffle(rows)\n    return rows\n"
    "{}model.fit(x, x, epochs=3)\n"
)


@pytest.mark.parametrize(
    "made",
    [
        "x = np.concatenate(Pool(4).map(load, ['a', 'b']))\n",
        "pool = Pool(4)\nx = np.concatenate(list(pool.imap_unordered(load, ['a', 'b'])))\n",
        "x = Pool(4).apply_async(load, args=('a',)).get()\n",
    ],
)
def test_workers_know_no_other_rank(made: str) -> None:
    plan = plan_of(FIT.format(made))
    assert "alike" not in plan.text
    assert any("each rank shuffles for itself here" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    "made",
    [
        "x = load('a')\n",
        "x = np.concatenate([load(p) for p in ('a', 'b')])\n",
        "x = np.concatenate(list(map(load, ['a', 'b'])))\n",
        "loaders = {'a': load}\nx = loaders['a']('a')\n",
    ],
)
def test_near_misses(made: str) -> None:
    assert "alike(np.random.shuffle)(rows)" in plan_of(FIT.format(made)).text
