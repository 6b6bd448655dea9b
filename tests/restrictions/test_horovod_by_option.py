"""Models that an option loads, or compiles again, without Horovod around their optimizer."""

from __future__ import annotations

import pytest

from .helpers import changed, violations

SCRIPT = """\
import os
import sys
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


def build():
    m = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
    m.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
    return m


MODEL
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""
LOAD = "tf.keras.models.load_model('final.h5')"
COMPILE = "\n    model.compile(tf.keras.optimizers.SGD(0.001 * hvd.size()), 'mse')"
WRAPPED = "hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.001 * hvd.size()))"


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (f"model = build()\nif os.path.exists('final.h5'):\n    model = {LOAD}", True),
        (f"if len(sys.argv) > 1:\n    model = {LOAD}\nelse:\n    model = build()", True),
        (f"model = {LOAD} if len(sys.argv) > 1 else build()", True),
        ("model = hvd.load_model('final.h5') if len(sys.argv) > 1 else build()", False),
        (f"model = build()\nif hvd.size() == 1:\n    model = {LOAD}", False),
        (f"model = {LOAD} if len(sys.argv) > 1 else build()\nmodel.compile({WRAPPED}, 'mse')", False),
        (f"model = {LOAD} if len(sys.argv) > 1 else elsewhere()", False),
    ],
)  # fmt: skip
def test_an_option_loads_a_plain_optimizer(model: str, found: bool) -> None:
    assert bool(violations(changed(SCRIPT, ("MODEL", model)), "HVD316")) is found


def test_what_a_function_compiles_is_no_loaded_model_alone() -> None:
    text = changed(SCRIPT, ("    m.compile", "    return compiled(m)\n\n\ndef compiled(m):\n    m.compile"))
    text = changed(text, ("MODEL", f"model = compiled({LOAD}) if len(sys.argv) > 1 else build()"))
    assert not violations(text, "HVD316")


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (f"model = build()\nif '--fine' in sys.argv:{COMPILE}", True),
        (f"model = build()\nif fine:\n    model.layers[0].trainable = False{COMPILE}", True),
        (f"model = tf.keras.Sequential([dense])\nmodel.compile({WRAPPED}, 'mse')\nif fine:{COMPILE}", True),
        (f"model = build()\nif fine:\n    model.compile({WRAPPED}, 'mse')", False),
        (f"model = build()\nif hvd.size() == 1:{COMPILE}", False),
        (f"model = build()\nif args.no_horovod:{COMPILE}", False),
        (f"model = build()\nif fine:{COMPILE}\nmodel.compile({WRAPPED}, 'mse')", False),
        (f"model = build()\nif fine:\n    model.compile({WRAPPED}, 'mse')\nelse:{COMPILE}", False),
    ],
)
def test_an_option_compiles_with_a_plain_optimizer(model: str, found: bool) -> None:
    assert bool(violations(changed(SCRIPT, ("MODEL", model)), "HVD304")) is found


BEGUN = """\
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = OPTIMIZER
if os.path.exists("last.h5"):
    model = hvd.load_model("last.h5")
else:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile(optimizer, "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


def test_a_run_that_begins_is_not_one_that_resumes_by_horovod() -> None:
    plain = changed(BEGUN, ("OPTIMIZER", "tf.keras.optimizers.SGD(0.001 * hvd.size())"))
    assert violations(plain, "HVD304")
    assert not violations(changed(BEGUN, ("OPTIMIZER", WRAPPED)), "HVD304")
    again = plain + 'model = hvd.load_model("last.h5")\nmodel.fit(rows, callbacks=CALLBACKS)\n'
    assert len(violations(again, "HVD304")) == 1
