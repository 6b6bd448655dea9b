"""Faults of code that is on Horovod, as people write them, and right code that looks like one: each with its twin."""

from __future__ import annotations

import pytest

from .helpers import codes

PROGRAM = """\
import contextlib
import functools
import itertools
import os
import sys
import threading
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd
from mpi4py import MPI

hvd.init()
tf.config.set_visible_devices([], "GPU")
np.random.seed(1 + hvd.rank())
x, y = tf.random.normal((1000, 4)), tf.random.normal((1000, 1))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000, seed=hvd.rank()).repeat().batch(32)
comm = MPI.COMM_WORLD
BEFORE


def step(x, y, first):
    with tf.GradientTape() as tape:
        loss = LOSS
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables(), root_rank=0)
    return loss


for i, (a, b) in NUMBERED:
    loss = step(a, b, i == 0)
    EACH
AFTER
"""
LOSS = "tf.reduce_mean((model(x) - y) ** 2)"
NUMBERED = "enumerate(rows.take(1000 // hvd.size()))"


def found(
    *, before: str = "", loss: str = LOSS, numbered: str = NUMBERED, each: str = "pass", after: str = ""
) -> set[str]:
    text = PROGRAM.replace("BEFORE", before).replace("LOSS", loss).replace("NUMBERED", numbered)
    return codes(text.replace("EACH", each.replace("\n", "\n    ")).replace("AFTER", after))


GUARDS = "\n".join(f'if "--{n}" in sys.argv: raise ValueError("{n}")' for n in range(4))
DECORATED = """\
def on_master(function):
    @functools.wraps(function)
    def inner(*args):
        if {test}:
            return function(*args)
    return inner

@on_master
def report(value):
    print({reported})
"""
MANAGER = """\
checkpoint = tf.train.Checkpoint(model=model)
manager = tf.train.CheckpointManager(checkpoint, "checkpoints", max_to_keep=1)
"""
SAVED = "if hvd.rank() == 0: manager.save()\n{}\ncheckpoint.restore(manager.latest_checkpoint)"
WRITTEN = """\
def write(path):
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"row")

if hvd.rank() == 0: write("rows.tfrecord")
{}
records = tf.data.TFRecordDataset("rows.tfrecord")
"""
CONDITION = """\
def average(): return hvd.allreduce(loss)
tf.cond({}, average, lambda: loss)
"""


@pytest.mark.parametrize(
    ("code", "faulty", "right"),
    [
        # what only some turns come to, after tests that all ranks answer alike
        (
            "HVD331",
            {"before": GUARDS, "each": "if hvd.rank() == 0 and i > 50: break"},
            {"before": GUARDS, "each": "if i > 50: break"},
        ),
        (
            "HVD331",
            {"each": "with contextlib.suppress(tf.errors.InvalidArgumentError):\n"
             "    tf.debugging.check_numerics(a, 'rows')\n    step(a, b, False)"},
            {"each": "with contextlib.suppress(OSError):\n    print(i)"},
        ),
        (
            "HVD331",
            {"before": DECORATED.format(test="hvd.rank() == 0", reported="hvd.allreduce(value)"), "each": "report(loss)"},
            {"before": DECORATED.format(test="hvd.rank() == 0", reported="value"), "each": "report(loss)"},
        ),
        (
            "HVD331",
            {"each": CONDITION.format("tf.math.is_finite(loss)").replace("\n", "\n")},
            {"each": CONDITION.format("tf.math.is_finite(hvd.allreduce(loss))")},
        ),
        (
            "HVD313",
            {"each": "if comm.Get_rank() == 0: print(hvd.allreduce(loss))"},
            {"each": "mean = hvd.allreduce(loss)\nif comm.Get_rank() == 0: print(mean)"},
        ),
        # what ranks read while another writes
        ("HVD332", {"before": MANAGER, "after": SAVED.format("")},
         {"before": MANAGER, "after": SAVED.format("hvd.allreduce(0)")}),
        ("HVD332", {"before": MANAGER, "after": SAVED.format("")},
         {"before": MANAGER, "after": SAVED.format("comm.Barrier()")}),
        ("HVD332", {"before": WRITTEN.format("")}, {"before": WRITTEN.format("hvd.allreduce(0)")}),
        (
            "HVD332",
            {"after": "if hvd.rank() == 0: rows.take(9).save('kept')\nprint(tf.data.Dataset.load('kept'))"},
            {"after": "if hvd.rank() == 0: rows.take(9).save('kept')\nhvd.allreduce(0)\nprint(tf.data.Dataset.load('kept'))"},
        ),
        ("HVD314", {"after": "tf.io.gfile.copy('a', 'b')"}, {"after": "if hvd.rank() == 0: tf.io.gfile.copy('a', 'b')"}),
        # what ranks train with
        (
            "HVD333",
            {"before": "weight = np.random.uniform(1.0, 10.0)", "loss": "weight * tf.reduce_mean(model(x) ** 2)"},
            {"before": "weight = hvd.broadcast_object(np.random.uniform(1.0, 10.0))",
             "loss": "weight * tf.reduce_mean(model(x) ** 2)"},
        ),
        (
            "HVD333",
            {"before": "seen = np.random.normal(size=(4, 8))", "loss": "tf.reduce_mean(model(x @ seen) ** 2)"},
            {"before": "seen = np.random.normal(size=(4, 8))", "each": "print(a @ seen)"},
        ),
        (
            "HVD333",
            {"each": "for v in model.trainable_variables: v.assign_add(tf.random.normal(v.shape))"},
            {"each": "for v in model.trainable_variables: v.assign_add(hvd.broadcast(tf.random.normal(v.shape), 0))"},
        ),
        (
            "HVD333",
            {"each": "if i == 9: model.layers[0].set_weights([np.random.rand(4, 1), np.zeros(1)])"},
            {"each": "if i == 9: model.layers[0].set_weights([np.ones((4, 1)), np.zeros(1)])"},
        ),
        (
            "HVD333",
            {"each": "rate = optimizer.learning_rate\nif float(loss) > 9: rate.assign(rate * 0.5)"},
            {"each": "rate = optimizer.learning_rate\nif float(hvd.allreduce(loss)) > 9: rate.assign(rate * 0.5)"},
        ),
    ],
)  # fmt: skip
def test_a_fault_and_its_twin(code: str, faulty: dict[str, str], right: dict[str, str]) -> None:
    assert code in found(**faulty)
    assert code not in found(**right)


BAR = "def bar(data):\n    return data\n"
TABLE = "log, times = {}, []"


@pytest.mark.parametrize(
    "right",
    [
        {"each": "if hvd.size() > 1: loss = hvd.allreduce(loss)\nif float(loss) < 0.1: break"},
        {"each": "mean = loss if hvd.size() == 1 else hvd.allreduce(loss)\nif float(mean) < 0.1: break"},
        {
            "before": "several = hvd.size() > 1",
            "each": "if several: loss = hvd.allreduce(loss)\nif float(loss) < 0.1: break",
        },
        {
            "before": "def mean(v):\n    if hvd.size() == 1: return v\n    return hvd.allreduce(v)",
            "each": "if float(mean(loss)) < 0.1: break",
        },
        {
            "before": "def averaged(log): return {k: hvd.allreduce(v) for k, v in log.items()}",
            "each": "log = {'loss': loss}\nlog = averaged(log)\nif log['loss'] < 1: break",
        },
        {"each": "if comm.allreduce(float(loss)) < 0.1: break"},
        {"each": "if comm.bcast(float(loss) < 0.1 if hvd.rank() == 0 else None): break"},
        {"before": BAR, "numbered": "bar(enumerate(rows))", "each": "if i >= 1000 // hvd.size(): break"},
        {"before": "log = {}", "each": "log['loss'] = float(loss)\nif 'loss' in log: print(hvd.allreduce(loss))"},
        {"before": "times = []", "each": "times.append(float(loss))\nif times: print(hvd.allreduce(loss))"},
        {"before": "log = {'loss': []}", "each": "log['loss'].append(float(loss))\nif len(log['loss']) == 9: break"},
        {"before": "log = None", "each": "if log: print(hvd.allreduce(log['loss']))\nlog = {'loss': float(loss)}"},
        {"before": "n = {}\nn['last'] = 1000 // hvd.size()", "numbered": "enumerate(rows.take(n['last']))"},
    ],
)  # fmt: skip
def test_right_code_that_looks_like_a_fault(right: dict[str, str]) -> None:
    assert not found(**right) & {"HVD313", "HVD321", "HVD331", "HVD333"}


@pytest.mark.parametrize(
    "faulty",
    [
        {"each": "if hvd.size() > 2: loss = hvd.allreduce(loss)\nif float(loss) < 0.1: break"},
        {"each": "if hvd.size() > 1: mean = hvd.allreduce(loss)\nif float(loss) < 0.1: break"},
        {"each": "if hvd.size() == 1: loss = loss * 2\nif float(loss) < 0.1: break"},
        {"before": "times = []", "each": "times.append(float(loss))\nif times[-1] < 0.1: break"},
    ],
)
def test_faults_that_look_like_that_code(faulty: dict[str, str]) -> None:
    assert "HVD331" in found(**faulty)
