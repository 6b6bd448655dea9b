"""Rates that are set while a script trains, and that grow with the square of the number of ranks."""

from __future__ import annotations

import pytest

from .helpers import codes

LOOP = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.1 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)


def rate_at(step):
    return 0.1 * hvd.size() * 0.9 ** step


for step, (x, y) in enumerate(rows()):
    SET
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("given", "twice"),
    [
        ("optimizer.learning_rate = rate_at(step) * hvd.size()", True),
        ("optimizer.lr.assign(rate_at(step) * hvd.size())", True),
        ("tf.keras.backend.set_value(optimizer.lr, hvd.size() * rate_at(step))", True),
        ("optimizer.learning_rate = 0.1 * hvd.size() * hvd.size() * 0.9 ** step", True),
        ("optimizer.learning_rate = rate_at(step)", False),
        ("optimizer.lr.assign(rate_at(step) * hvd.size() / hvd.size())", False),
        ("optimizer.learning_rate = rate_at(step * hvd.size())", False),
        ("optimizer.learning_rate = 0.1 * hvd.size() * 8 / (64 // hvd.size())", False),
        ("args.learning_rate = rate_at(step) * hvd.size()", False),
    ],
)
def test_rates_that_are_set_in_each_step(given: str, twice: bool) -> None:
    assert ("HVD309" in codes(LOOP.replace("SET", given))) == twice


FITTED = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


def schedule(epoch):
    base = 0.1 * hvd.size()
    return RATE


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), tf.keras.callbacks.LearningRateScheduler(schedule)]
model.fit(x, y, callbacks=callbacks)
"""


@pytest.mark.parametrize(
    ("rate", "twice"),
    [
        ("base * hvd.size() * 0.9 ** epoch", True),
        ("base * 0.9 ** epoch", False),
        ("base / hvd.size()", False),
    ],
)
def test_rates_of_a_scheduler(rate: str, twice: bool) -> None:
    assert ("HVD309" in codes(FITTED.replace("RATE", rate))) == twice


SHARED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows, labels = np.load("rows.npy"), np.load("labels.npy")
order = np.random.RandomState(0).permutation(len(rows))
mine = TAKEN
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
model.fit(rows[mine], labels[mine], callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("taken", "uneven"),
    [
        ("order[hvd.rank()::hvd.size()]", True),
        ("order[hvd.rank()::hvd.size()][:1000]", True),
        ("order[hvd.rank()::hvd.size()][1:]", True),
        ("order[hvd.rank()::hvd.size()][:len(order) // hvd.size()]", False),
    ],
)
def test_parts_of_which_each_rank_keeps_as_many_rows(taken: str, uneven: bool) -> None:
    assert ("HVD323" in codes(SHARED.replace("TAKEN", taken))) == uneven
