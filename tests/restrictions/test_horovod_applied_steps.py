"""Gradients that are averaged, and then left out or changed by some ranks, so that their weights part."""

from __future__ import annotations

import pytest

from .helpers import changed, codes, violations

EAGER = """\
import random
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[hvd.local_rank()], "GPU")
rng = np.random.default_rng(hvd.rank())
x = rng.normal(size=(512, 4)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.001 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
count = 0


def apply(grads, loss):
    opt.apply_gradients(zip(grads, model.trainable_variables))


for rows, numbers in data.take(100 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows) - numbers) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    grads = tape.gradient(loss, model.trainable_variables)
    apply(grads, loss)
"""
APPLY = "    apply(grads, loss)\n"
WITHIN = "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("if loss < 4.0:", [(APPLY, "    if loss < 4.0:\n    " + APPLY)]),
        ("if loss < 4.0:", [(WITHIN, "    if loss < 4.0:\n    " + WITHIN)]),
        ("if loss > 4.0:", [(APPLY, "    if loss > 4.0:\n        continue\n" + APPLY)]),
        ("if loss > 4.0:", [(WITHIN, "    if loss > 4.0:\n        return\n" + WITHIN)]),
        ("tf.cond(loss < 4.0", [(APPLY, "    tf.cond(loss < 4.0, lambda: apply(grads, loss), lambda: None)\n")]),
        ("tf.reduce_max(rows) < 4.0:", [(APPLY, "    if tf.reduce_max(rows) < 4.0:\n    " + APPLY)]),
        ("if random.random() < 0.5:", [(APPLY, "    if random.random() < 0.5:\n    " + APPLY)]),
        ("if hvd.rank() == 0:", [(APPLY, "    if hvd.rank() == 0:\n    " + APPLY)]),
        ("if count == 4:", [(APPLY, "    if loss < 4.0:\n        count += 1\n    if count == 4:\n    " + APPLY)]),
        ("if loss < 4.0:", [("tape = hvd.DistributedGradientTape(tape)", "pass"), (APPLY, "    if loss < 4.0:\n    " + APPLY),
                            ("grads = tape.gradient(loss, model.trainable_variables)",
                             "grads = [hvd.allreduce(g) for g in tape.gradient(loss, model.trainable_variables)]")]),
        ("tf.random.normal", [(APPLY, "    grads = [g + tf.random.normal(tf.shape(g)) for g in grads]\n" + APPLY)]),
        ("random.sample", [(WITHIN, "    pairs = list(zip(grads, model.trainable_variables))\n"
                            "    opt.apply_gradients(random.sample(pairs, 2))\n")]),
        ("1.0 + loss", [(APPLY, "    grads = [g / (1.0 + loss) for g in grads]\n" + APPLY)]),
        ("1.0 + loss", [(WITHIN, "    grads = [tf.math.divide(g, 1.0 + loss) for g in grads]\n" + WITHIN)]),
        ("tf.random.normal", [(APPLY, "    pairs = [(g + tf.random.normal([]), 1.0) for g in grads]\n"
                               "    grads = [g * w for g, w in pairs]\n" + APPLY)]),
        ("tf.where", [(APPLY, "    grads = [tf.where(loss < 4.0, g, 0.0 * g) for g in grads]\n" + APPLY)]),
    ],
)  # fmt: skip
def test_gradients_are_left_out_or_changed_by_a_rank(line: str, changes: list[tuple[str, str]]) -> None:
    text = changed(EAGER, *changes)
    assert [line in text[v.span.start :].split("\n")[0] or line in _line(text, v.span.start)
            for v in violations(text, "HVD333")] == [True]  # fmt: skip


def _line(text: str, at: int) -> str:
    return text[:at].rsplit("\n", 1)[-1] + text[at:].split("\n", 1)[0]


AGREED = "    loss = hvd.allreduce(loss)\n"


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [(APPLY, AGREED + "    if loss < 4.0:\n    " + APPLY)],
        [(APPLY, "    if tf.linalg.global_norm(grads) < 4.0:\n    " + APPLY)],
        [(APPLY, "    if tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in grads]):\n    " + APPLY)],
        [(APPLY, "    count += 1\n    if count % 4 == 0:\n    " + APPLY)],
        [(APPLY, APPLY + "    if loss < 4.0:\n        print('small')\n")],
        [(APPLY, "    grads, _ = tf.clip_by_global_norm(grads, 1.0)\n" + APPLY)],
        [(APPLY, "    grads = [g + same.normal(tf.shape(g)) for g in grads]\n" + APPLY),
         ("count = 0\n", "count = 0\nsame = tf.random.Generator.from_seed(7)\n")],
        [(APPLY, AGREED + "    grads = [g / (1.0 + loss) for g in grads]\n" + APPLY)],
        [(APPLY, APPLY + "    hvd.broadcast_variables(model.variables, root_rank=0)\n"),
         (WITHIN, "    if loss < 4.0:\n    " + WITHIN)],
        [("    grads = tape.gradient(loss, model.trainable_variables)",
          "    loss = loss + 0.0 * tf.random.normal([])\n    grads = tape.gradient(loss, model.trainable_variables)")],
        [("tape = hvd.DistributedGradientTape(tape)", "pass"),
         ("grads = tape.gradient(loss, model.trainable_variables)",
          "grads = [hvd.allreduce(g + tf.random.normal([])) for g in tape.gradient(loss, model.trainable_variables)]")],
        [(APPLY, "    kept.append((loss, grads))\n    grads = [g for _, each in kept for g in each]\n" + APPLY),
         ("count = 0\n", "kept = []\n")],
        [(APPLY, "    out = (loss, grads)\n    grads = out[1]\n" + APPLY)],
        [(APPLY, "    grads = taken(grads, loss)[0]\n" + APPLY),
         ("count = 0\n", "def taken(grads, loss):\n    return grads, loss\n\n\n")],
        [("tf.keras.layers.Dense(1)]", "tf.keras.layers.Dropout(0.1), tf.keras.layers.Dense(1)]")],
    ],
)  # fmt: skip
def test_gradients_that_all_ranks_apply_are_none(changes: list[tuple[str, str]]) -> None:
    assert not violations(changed(EAGER, *changes), "HVD333")


def test_optimizers_that_average_what_they_are_given_wait_instead() -> None:
    text = changed(
        EAGER,
        ("tape = hvd.DistributedGradientTape(tape)", "pass"),
        ("opt = tf.keras.optimizers.SGD(0.001 * hvd.size())",
         "opt = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.001 * hvd.size()))"),
        (APPLY, "    grads = [g + tf.random.normal(tf.shape(g)) for g in grads]\n    if loss < 4.0:\n    " + APPLY),
    )  # fmt: skip
    assert "HVD333" not in codes(text)


OWN_STEP = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from horovod.tensorflow import DistributedGradientTape

hvd.init()
rows = np.random.default_rng(hvd.rank()).normal(size=(256, 4))


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, rows):
        return self.dense(rows)

    def train_step(self, data):
        rows, numbers = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(rows, training=True) - numbers) ** 2)
        tape = DistributedGradientTape(tape)
        grads = tape.gradient(loss, self.trainable_variables)
        if loss < 4.0:
            self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}


model = Net()
model.compile(tf.keras.optimizers.SGD(0.001 * hvd.size()), "mse", run_eagerly=True)
model.fit(rows, rows[:, :1], callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)], epochs=3)
"""


def test_a_step_of_the_models_own_is_left_out() -> None:
    (found,) = violations(OWN_STEP, "HVD333")
    assert OWN_STEP[found.span.start :].startswith("loss < 4.0")


def test_a_step_of_the_models_own_that_goes_by_an_average_is_none() -> None:
    text = changed(OWN_STEP, ("if loss < 4.0", "if hvd.allreduce(loss) < 4.0"))
    assert not violations(text, "HVD333")


GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
rows = np.random.RandomState(0).normal(size=(1024, 4))[hvd.rank()::hvd.size()]
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
opt = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size()))
pairs = opt.compute_gradients(loss)
train = opt.apply_gradients(pairs)
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for i in range(200 // hvd.size()):
        session.run(train, {x: rows[np.random.randint(0, len(rows), 32)]})
"""
MADE = "train = opt.apply_gradients(pairs)\n"


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("train = tf.cond(loss < 2.0, lambda: opt.apply_gradients(pairs), lambda: tf.no_op())\n", True),
        (
            "train = tf.cond(hvd.allreduce(loss) < 2.0, lambda: opt.apply_gradients(pairs), lambda: tf.no_op())\n",
            False,
        ),
        ("train = opt.apply_gradients([(g + tf.random_normal(tf.shape(g)), v) for g, v in pairs])\n", True),
        (
            "train = opt.apply_gradients([(g + tf.random_normal(tf.shape(g), seed=1), v) for g, v in pairs])\n",
            False,
        ),
        ("train = opt.apply_gradients([(g / (1.0 + loss), v) for g, v in pairs])\n", True),
        ("train = opt.apply_gradients([(tf.clip_by_norm(g, 1.0), v) for g, v in pairs])\n", False),
        (MADE, False),
        (
            "w = tf.Variable(tf.random_normal([4, 1]))\nloss = tf.reduce_mean(loss + tf.matmul(x, w))\n"
            "made = [g if g is None else hvd.allreduce(g) for g in tf.gradients(loss, [w])]\n"
            "train = opt.apply_gradients(list(zip(made, [w])))\n",
            False,
        ),
    ],
)
def test_a_graph_applies_what_is_averaged(made: str, found: bool) -> None:
    assert bool(violations(changed(GRAPH, (MADE, made)), "HVD333")) is found
