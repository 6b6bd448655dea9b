"""Variables that are made after the broadcast that was to send them, and broadcasts of which a helper is given what to send."""

from __future__ import annotations

import pytest

from .helpers import changed, violations

EAGER = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x = np.random.default_rng(hvd.rank()).normal(size=(512, 4)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(32)


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(1)])


def send(*objects):
    for o in objects:
        hvd.broadcast_variables(o, root_rank=0)


model = build()
opt = tf.keras.optimizers.Adam(0.001 * hvd.size())
#BEFORE
#LATER
for i, (rows, numbers) in enumerate(data.take(100 // hvd.size())):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows) - numbers) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if i == 0:
        pass
"""
SENDS = "hvd.broadcast_variables(model.variables, root_rank=0)"
HELPER = "def send(*objects):\n    for o in objects:\n        hvd.broadcast_variables(o, root_rank=0)\n\n\n"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([("        pass\n", "        send(model.variables, opt.variables())\n")], False),
        ([("        pass\n", "        send(opt.variables())\n")], True),
        ([("        pass\n", "        send(opt.variables(), model.variables)\n")], False),
        ([("        pass\n", "        send(*all_of_it)\n")], False),
        ([("        pass\n", "        send(model.layers[0].variables, opt.variables())\n")], True),
        (
            [
                (
                    "        pass\n",
                    "        send(model.layers[0].variables)\n        hvd.broadcast_object(i)\n",
                )
            ],
            True,
        ),
        ([("        pass\n", "        send(other.variables)\n"), ("#BEFORE", "other = build()")], True),
        (
            [
                ("        pass\n", "        send(other.variables, model.variables)\n"),
                ("#BEFORE", "other = build()"),
            ],
            False,
        ),
        (
            [
                ("        pass\n", "        send(*[v.variables for v in (model, opt)])\n"),
                ("#BEFORE", "other = build()"),
            ],
            False,
        ),
        (
            [
                ("        pass\n", "        send(opt.variables())\n"),
                ("(*objects)", "(objects)"),
                ("in objects", "in [objects]"),
            ],
            True,
        ),
    ],
)
def test_a_helper_sends_what_it_is_given(changes: list[tuple[str, str]], found: bool) -> None:
    assert bool(violations(changed(EAGER, *changes), "HVD306")) is found


HEAD = "model = tf.keras.Sequential([model, tf.keras.layers.Dense(1)])"


@pytest.mark.parametrize(
    ("before", "later", "found"),
    [
        (SENDS, HEAD, True),
        (SENDS, "model.add(tf.keras.layers.Dense(1))", True),
        (
            SENDS,
            "out = tf.keras.layers.Dense(1)(model.output)\nmodel = tf.keras.Model(model.input, out)",
            True,
        ),
        (HEAD, SENDS, False),
        ("model.add(tf.keras.layers.Dense(1))", SENDS, False),
        (SENDS, "model = tf.keras.Sequential([model, tf.keras.layers.Dropout(0.1)])", False),
        (SENDS, HEAD + "\n" + SENDS, False),
        (SENDS, HEAD + "\nmodel.load_weights('head.h5')", False),
        ("tf.random.set_seed(1)\n" + SENDS, HEAD, False),
    ],
)
def test_a_model_gets_layers_after_it_was_sent(before: str, later: str, found: bool) -> None:
    text = changed(EAGER, (HELPER, ""), ("#BEFORE", before), ("#LATER", later))
    assert bool(violations(text, "HVD306")) is found


TRIALS = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x = np.random.default_rng(hvd.rank()).normal(size=(512, 4)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(32)
first = True
for trial in range(3):
    #TRIAL
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(1)])
    opt = tf.keras.optimizers.SGD(0.001 * hvd.size())
    for rows, numbers in data.take(60 // hvd.size()):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(rows) - numbers) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        if first:
            hvd.broadcast_variables(model.variables, root_rank=0)
            first = False
"""


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([], True),
        ([("first = True", "sent = False"), ("if first:", "if not sent:"), ("first = False", "sent = True")], True),
        ([("    #TRIAL", "    first = True")], False),
        ([("first = True\n", ""), ("    #TRIAL", "    first = True")], False),
        ([("for trial in range(3):\n    #TRIAL\n    model", "model"), ("    opt", "opt"),
          ("    for rows", "for trial in range(3):\n    for rows")], False),
        ([("            first = False\n", "")], False),
    ],
)  # fmt: skip
def test_models_of_later_turns_are_sent_too(changes: list[tuple[str, str]], found: bool) -> None:
    assert bool(violations(changed(TRIALS, *changes), "HVD306")) is found


GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
rows = np.random.RandomState(0).normal(size=(1024, 4))[hvd.rank()::hvd.size()]
x = tf.placeholder(tf.float32, [None, 4])
out = tf.layers.dense(x, 8)
send = hvd.broadcast_global_variables(0)
out = tf.layers.dense(out, 1)
loss = tf.reduce_mean(tf.square(out))
train = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.01 * hvd.size(), 0.9)).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(send)
    for i in range(200 // hvd.size()):
        session.run(train, {x: rows[np.random.randint(0, len(rows), 32)]})
"""
LAST = "out = tf.layers.dense(out, 1)\n"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([], True),
        ([(LAST, "out = out @ tf.get_variable('last', [8, 1])\n")], True),
        ([(LAST, "out = tf.nn.relu(out)\n")], False),
        ([(LAST, ""), ("send =", LAST + "send =")], False),
        ([("send = hvd.broadcast_global_variables(0)\n", ""),
          ("session.run(send)", "session.run(hvd.broadcast_global_variables(0))")], False),
        ([("hvd.init()\n", "hvd.init()\ntf.set_random_seed(1)\n")], False),
    ],
)  # fmt: skip
def test_a_graph_makes_variables_after_what_sends_them(changes: list[tuple[str, str]], found: bool) -> None:
    assert bool(violations(changed(GRAPH, *changes), "HVD306")) is found
