"""Models that each rank chooses by its own rows, and variables of the loss that each moves on by its own."""

from __future__ import annotations

import pytest

from .helpers import changed, violations

MODELS = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
x = np.random.default_rng(hvd.rank()).normal(size=(256, 4)).astype("float32")
y = x.sum(1, keepdims=True)
valid = np.load("valid.npy")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]


def build():
    m = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(1)])
    m.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.001 * hvd.size())), "mse")
    return m


def score(m):
    return m.evaluate(x, y, verbose=0)


models = [build() for _ in range(3)]
for m in models:
    m.fit(x, y, callbacks=callbacks)
CHOOSE
best.fit(x, y, epochs=2)
"""


@pytest.mark.parametrize(
    ("choose", "found"),
    [
        ("best = min(models, key=lambda m: m.evaluate(x, y, verbose=0))", True),
        ("best = min(models, key=score)", True),
        ("best = sorted(models, key=score)[0]", True),
        ("best = models[int(np.argmin([m.evaluate(x, y) for m in models]))]", True),
        ("best = min(models, key=lambda m: m.evaluate(valid))", False),
        ("best = min(models, key=lambda m: float(hvd.allreduce(m.evaluate(x, y))))", False),
        ("best = models[int(hvd.broadcast_object(np.argmin([m.evaluate(x, y) for m in models])))]", False),
        ("best = models[0]", False),
        ("best = models[len(models) - 1]", False),
        ("best = min(models, key=lambda m: m.count_params())", False),
    ],
)
def test_a_model_is_chosen_by_own_rows(choose: str, found: bool) -> None:
    assert bool(violations(changed(MODELS, ("CHOOSE", choose)), "HVD333")) is found


def test_a_chosen_model_that_is_sent_or_not_trained_on_is_none() -> None:
    text = changed(MODELS, ("CHOOSE", "best = min(models, key=score)"))
    assert not violations(
        changed(text, ("best.fit(x, y, ", "best.fit(x, y, callbacks=callbacks, ")), "HVD333"
    )
    assert not violations(changed(text, ("best.fit(x, y, epochs=2)", "best.save('best.h5')")), "HVD333")


MOVED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x = np.random.default_rng(hvd.rank()).normal(size=(512, 4)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(1)])
table = tf.Variable(tf.zeros([4]))
opt = tf.keras.optimizers.SGD(0.001 * hvd.size())
hvd.broadcast_variables(model.variables + [table], root_rank=0)
for rows, numbers in data.take(100 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows - table) - numbers) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    SET
"""


@pytest.mark.parametrize(
    ("set_to", "found"),
    [
        ("table.assign(0.9 * table + 0.1 * tf.reduce_mean(rows, 0))", True),
        ("table.assign(table + 0.1 * (tf.reduce_mean(rows, 0) - table))", True),
        ("table.assign(0.9 * table + 0.1 * hvd.allreduce(tf.reduce_mean(rows, 0)))", False),
        ("table.assign(0.9 * table + 0.1 * 3.0)", False),
        ("table.assign(tf.concat([table[1:], tf.reduce_mean(rows, 0)[:1]], 0))", False),
        ("mean = tf.reduce_mean(rows, 0)", False),
    ],
)
def test_a_variable_of_the_loss_moves_by_own_rows(set_to: str, found: bool) -> None:
    assert bool(violations(changed(MOVED, ("SET", set_to)), "HVD333")) is found
