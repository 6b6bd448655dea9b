"""Broadcasts after all training, rates of chosen optimizers, counts from 1, files that are copies."""

from __future__ import annotations

import pytest

from .helpers import changed, codes, violations

STEP = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01 * hvd.size())
rows = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).shard(hvd.size(), hvd.rank()).batch(8).take(99)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


"""
SEND = "hvd.broadcast_variables(model.variables, root_rank=0)\n"
LOOP = "for x in rows:\n    step(x)\n"


@pytest.mark.parametrize(
    "train",
    [
        LOOP + SEND,
        "for epoch in range(3):\n    for x in rows:\n        step(x)\n" + SEND,
        "def main():\n    for x in rows:\n        step(x)\n    " + SEND + "main()\n",
    ],
)
def test_weights_are_sent_before_all_is_trained(train: str) -> None:
    assert "HVD306" in codes(STEP + train)


@pytest.mark.parametrize(
    "train",
    [
        SEND + LOOP,
        SEND + LOOP + SEND,
        LOOP.replace("rows", "rows.take(1)") + SEND + LOOP,
        "for epoch in range(3):\n    for x in rows:\n        step(x)\n    " + SEND,
        "for i, x in enumerate(rows):\n    step(x)\n    if i == 0:\n        " + SEND,
        "tf.random.set_seed(1)\n" + LOOP + SEND,
        "model.load_weights('begin.h5')\n" + LOOP + SEND,
        "def send():\n    " + SEND + "send()\n" + LOOP,
    ],
)
def test_weights_may_be_sent_elsewhere(train: str) -> None:
    assert "HVD306" not in codes(STEP + train)


GRAPH = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
steps = 10000
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
count = tf.train.get_or_create_global_step()
rate = tf.train.cosine_decay(0.01 * hvd.size(), count, steps)
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(rate)).minimize(loss, global_step=count)
send = hvd.broadcast_global_variables(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(send)
    for i in range(1, steps // hvd.size() + 1):
        session.run(train, {x: next(batches)})
    DONE = 0
"""


def test_a_graph_is_sent_before_it_is_trained() -> None:
    assert "HVD306" not in codes(GRAPH)
    late = changed(GRAPH, ("    session.run(send)\n", ""), ("DONE = 0", "session.run(send)"))
    assert "HVD306" in codes(late)


@pytest.mark.parametrize("turns", ["1, N + 1", "1, 1 + N", "0, N", "N"])
def test_a_loop_may_count_from_one(turns: str) -> None:
    counted = turns.replace("N", "steps // hvd.size()")
    text = changed(GRAPH, ("1, steps // hvd.size() + 1", counted))
    assert [v.code for v in violations(text, "HVD325")] == ["HVD325"]
    divided = changed(text, ("count, steps)", "count, steps // hvd.size())"))
    assert not violations(divided, "HVD325")


CHOSEN = """\
import tensorflow as tf
import horovod.tensorflow as hvd


def train(args, model, data):
    optimizer = {"sgd": tf.keras.optimizers.SGD(0.1), "adam": tf.keras.optimizers.Adam(0.1)}[args.optimizer]
    least = 1e9

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            error = model.compute_loss(y, model(x))
            loss = error + args.decay * tf.add_n([tf.nn.l2_loss(v) for v in model.trainable_variables])
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return RETURNED

    for i, (x, y) in enumerate(data):
        now = step(x, y)
        if float(now) > 2 * least:
            optimizer.learning_rate = 0.01
        least = min(least, float(now))
        if i == 0:
            hvd.broadcast_variables(model.variables, root_rank=0)
"""


def test_a_part_of_the_loss_is_one_of_the_ranks_rows() -> None:
    assert "HVD333" in codes(changed(CHOSEN, ("RETURNED", "error")))
    assert "HVD333" in codes(changed(CHOSEN, ("RETURNED", "loss")))
    assert "HVD333" not in codes(changed(CHOSEN, ("RETURNED", "hvd.allreduce(error)")))


def test_what_only_weights_say_is_the_same_on_all_ranks() -> None:
    text = changed(
        CHOSEN,
        ("RETURNED", "size"),
        ("loss = error + args.decay * tf.add_n", "size = tf.add_n"),
        (
            "model.trainable_variables])\n        tape",
            "model.trainable_variables])\n            loss = error + size\n        tape",
        ),
    )
    assert "HVD333" not in codes(text)


COPIES = """\
import os
import random
import urllib.request
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
random.seed(1)


def fetched(name):
    if not os.path.exists(name):
        urllib.request.urlretrieve(URL, name)
    return name


rows = np.load(fetched("rows-%d.npy" % hvd.rank()))
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size())).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for i in range(1000 // hvd.size()):
        at = random.randint(0, 1000)
        session.run(train, {x: rows[at:at + 8]})
"""


def test_a_copy_of_its_own_has_the_same_rows() -> None:
    assert "HVD320" in codes(changed(COPIES, ("URL", "'http://a.b/rows.npy'")))
    assert "HVD320" not in codes(changed(COPIES, ("URL", "'http://a.b/' + name")))
    assert "HVD320" not in codes(
        changed(COPIES, ("URL", "'http://a.b/rows.npy'"), ("random.seed(1)", "random.seed(hvd.rank())"))
    )
