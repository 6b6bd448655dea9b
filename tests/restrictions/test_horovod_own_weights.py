"""Weights that ranks set to something of their own after they were sent: what each has just drawn, or makes of its own rows,
and what a session sets on one rank alone."""

from __future__ import annotations

import pytest

from .helpers import changed, violations

EAGER = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
#SEED
rng = np.random.default_rng(hvd.rank())
x = rng.normal(size=(512, 4)).astype("float32") * (1 + hvd.rank())
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(32)


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(1)])


model = build()
opt = tf.keras.optimizers.SGD(0.01 * hvd.size())
#BEFORE
hvd.broadcast_variables(model.variables, root_rank=0)
for i, (rows, numbers) in enumerate(data.take(100 // hvd.size())):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows) - numbers) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if i == 20:
        pass
"""
AT = "        pass\n"
ANEW = "model.set_weights(build().get_weights())\n"
INDENT = " " * 8


@pytest.mark.parametrize(
    "lines",
    [
        ANEW,
        "other = build()\n        model.set_weights(other.get_weights())\n",
        "model.set_weights(tf.keras.models.clone_model(model).get_weights())\n",
        "model.layers[-1].set_weights(build().layers[-1].get_weights())\n",
        "last = model.layers[-1]\n        last.kernel.assign(tf.keras.initializers.GlorotUniform()(last.kernel.shape))\n",
        "kernel = model.get_layer('last').kernel\n        kernel.assign(tf.random.normal(kernel.shape))\n",
        "model.layers[1].kernel.assign(model.layers[1].kernel * tf.reduce_mean(model.layers[0](rows), 0)[:, None])\n",
        "if hvd.rank() == 0:\n            last = model.layers[-1]\n            last.bias.assign([0.0])\n",
    ],
)
def test_weights_are_set_to_something_of_a_rank(lines: str) -> None:
    assert len(violations(changed(EAGER, (AT, INDENT + lines)), "HVD333")) == 1


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [("#BEFORE\n", ANEW)],
        [(AT, INDENT + ANEW + "        hvd.broadcast_variables(model.variables, root_rank=0)\n")],
        [(AT, INDENT + ANEW), ("#SEED", "tf.keras.utils.set_random_seed(1)")],
        [(AT, INDENT + "other = build()\n        other.load_weights('best.h5')\n"
          "        model.set_weights(other.get_weights())\n")],
        [(AT, INDENT + "model.set_weights(mean)\n"), ("#BEFORE", "mean = model.get_weights()")],
        [(AT, INDENT + "model.set_weights(hvd.broadcast_object(build().get_weights(), root_rank=0))\n")],
        [(AT, INDENT + "last = model.layers[-1]\n        last.kernel.assign(tf.zeros(last.kernel.shape))\n")],
        [(AT, INDENT + "last = model.layers[-1]\n        last.kernel.assign(0.5 * last.kernel)\n")],
        [(AT, INDENT + "build().set_weights(model.get_weights())\n")],
        [(AT, INDENT + ANEW), ("    return tf", "    tf.random.set_seed(3)\n    return tf")],
    ],
)  # fmt: skip
def test_weights_that_all_ranks_have_are_none(changes: list[tuple[str, str]]) -> None:
    assert not violations(changed(EAGER, *changes), "HVD333")


FITTED = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(1)])


class Again(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.model.set_weights(build().get_weights())


model = build()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.001 * hvd.size())), "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), Again()], epochs=3)
"""


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([], True),
        ([("epoch == 1", "epoch > 3")], True),
        ([("epoch == 1", "epoch == 0")], False),
        (
            [
                ("on_epoch_begin(self, epoch", "on_train_begin(self"),
                ("        if epoch == 1:\n", "        if True:\n"),
            ],
            False,
        ),
    ],
)
def test_a_callback_draws_weights_after_they_were_sent(changes: list[tuple[str, str]], found: bool) -> None:
    assert bool(violations(changed(FITTED, *changes), "HVD333")) is found


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
scale = tf.get_variable("scale", [4])
mask = tf.Variable(tf.ones([4]), trainable=False)
seen = tf.Variable(0, trainable=False)
loss = tf.reduce_mean(tf.square(tf.layers.dense(x * scale * mask, 1)))
opt = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size()))
train = opt.minimize(loss)
old = [tf.identity(v) for v in tf.trainable_variables()]
#OP
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    #BEFORE
    session.run(hvd.broadcast_global_variables(0))
    #ONCE
    for i in range(200 // hvd.size()):
        session.run(train, {x: rows[np.random.randint(0, len(rows), 32)]})
        if i == 20:
            #ALL
            if hvd.rank() == 0:
                pass
                #FIRST
"""
RESET = "op = tf.variables_initializer(tf.trainable_variables()[-2:])"
SWAP = "op = tf.group(*[tf.assign(v, v * 0.9) for v in tf.trainable_variables()])"
DRAW = "op = mask.assign(tf.cast(tf.random_uniform([4]) > 0.5, tf.float32))"


@pytest.mark.parametrize(
    ("op", "place"),
    [
        (RESET, "#FIRST"),
        (RESET, "#ALL"),
        (SWAP, "#FIRST"),
        ("op = tf.assign(tf.trainable_variables()[-1], [1.0])", "#FIRST"),
        ("op = scale.assign([1.0, 1.0, 1.0, 1.0])", "#FIRST"),
        ("op = scale.assign(tf.random_normal([4]))", "#ALL"),
        (DRAW, "#ONCE"),
    ],
)
def test_a_session_sets_what_is_trained(op: str, place: str) -> None:
    text = changed(GRAPH, ("#OP", op), (place, "session.run(op)"))
    (found,) = violations(text, "HVD333")
    assert text[found.span.start :].startswith("session.run(op)")


def test_a_variable_is_loaded_by_one_rank() -> None:
    text = changed(
        GRAPH, ("#OP", "last = tf.trainable_variables()[-1]"), ("#FIRST", "last.load(np.ones(1), session)")
    )
    assert len(violations(text, "HVD333")) == 1
    assert not violations(text.replace("if hvd.rank() == 0:", "if i > 3:"), "HVD333")


@pytest.mark.parametrize(
    ("op", "place", "run"),
    [
        (RESET, "#BEFORE", "session.run(op)"),
        (RESET, "#ALL", "session.run(op)\n            session.run(hvd.broadcast_global_variables(0))"),
        ("tf.set_random_seed(1)\n" + RESET, "#ALL", "session.run(op)"),
        (SWAP, "#ALL", "session.run(op)"),
        (SWAP + "\nback = tf.group(*[tf.assign(v, w) for v, w in zip(tf.trainable_variables(), old)])", "#FIRST",
         "session.run(op)\n                print(session.run(loss, {x: rows}))\n                session.run(back)"),
        ("op = tf.assign(seen, 5)", "#FIRST", "session.run(op)"),
        ("op = mask.assign([1.0, 1.0, 0.0, 1.0])", "#ONCE", "session.run(op)"),
        (DRAW.replace("[4]", "[4], seed=1"), "#ONCE", "session.run(op)"),
        (DRAW, "#BEFORE", "session.run(op)"),
        (DRAW, "#ALL", "session.run(op)"),
        ("op = tf.no_op()", "#FIRST", "tf.train.Saver().save(session, 'kept')"),
    ],
)  # fmt: skip
def test_what_all_ranks_set_or_one_takes_back_is_none(op: str, place: str, run: str) -> None:
    assert not violations(changed(GRAPH, ("#OP", op), (place, run)), "HVD333")


OWN_STEP = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from horovod.tensorflow import DistributedGradientTape

hvd.init()
x = np.random.default_rng(hvd.rank()).normal(size=(256, 4)).astype("float32")


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
        self.last = tf.Variable(1.0, trainable=False)
        self.seen = self.add_weight(name="seen", shape=(), trainable=False)

    def call(self, rows):
        return self.dense(rows)

    def train_step(self, data):
        rows, numbers = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(rows, training=True) - numbers) ** 2)
        tape = DistributedGradientTape(tape)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        SET
        return {"loss": loss}


model = Net()
model.compile(tf.keras.optimizers.SGD(0.001 * hvd.size()), "mse")
model.fit(x, x[:, :1], callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("set_to", "found"),
    [
        ("self.last.assign(loss)", False),
        ("self.last.assign(0.9 * self.last + 0.1 * loss)", False),
        ("self.seen.assign_add(tf.reduce_sum(rows))", False),
    ],
)
def test_variables_that_a_model_only_shows_are_none(set_to: str, found: bool) -> None:
    assert bool(violations(changed(OWN_STEP, ("SET", set_to)), "HVD333")) is found
