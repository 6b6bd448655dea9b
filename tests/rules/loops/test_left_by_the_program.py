"""G4, HVD205: a script that ends before it trains, where a file is there: all ranks do as rank 0 does."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan, Refusal
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import os, sys
import numpy as np
import tensorflow as tf
x, y = np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
"""
TRAIN = """\
for a, b in ds:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
model.save_weights("model.weights.h5")
"""
LEAVING = [
    "exit()",
    "quit()",
    "sys.exit()",
    "sys.exit(0)",
    "raise SystemExit",
    "raise SystemExit(0)",
    "os._exit(0)",
]
THERE = 'os.path.exists("model.weights.h5")'


def outcome(guard: str) -> Plan | Refusal:
    made = distribute(summarize(Document(HEAD + guard + TRAIN, "train.py")))
    assert isinstance(made, (Plan, Refusal))
    return made


@pytest.mark.parametrize("leaving", LEAVING)
def test_a_script_that_ends_before_it_trains_ends_on_all_ranks(leaving: str) -> None:
    plan = outcome(f"if {THERE}:\n    model.load_weights('model.weights.h5')\n    {leaving}\n")
    assert isinstance(plan, Plan)
    assert f"if hvd.broadcast_object({THERE}):\n" in plan.text


def test_so_does_one_that_ends_in_a_function() -> None:
    body = "".join(f"    {line}\n" for line in TRAIN.splitlines())
    code = f"def main():\n    if {THERE}:\n        sys.exit()\n{body}main()\n"
    plan = distribute(summarize(Document(HEAD + code, "train.py")))
    assert isinstance(plan, Plan)
    assert f"    if hvd.broadcast_object({THERE}):\n" in plan.text


@pytest.mark.parametrize(
    "guard",
    [
        f"if {THERE}:\n    sys.exit(1)\n",  # with a status, the launcher ends all ranks
        f"if {THERE}:\n    raise ValueError('there is one')\n",
        f"if {THERE}:\n    print('again')\n",
        "if len(sys.argv) > 1:\n    sys.exit()\n",
    ],
)
def test_what_fails_or_is_alike_stays_as_it_is(guard: str) -> None:
    plan = outcome(guard)
    assert isinstance(plan, Plan)
    assert "broadcast_object" not in plan.text


@pytest.mark.parametrize("leaving", ["exit()", "raise SystemExit"])
def test_what_a_checkpoint_decides_is_refused_as_before_a_return(leaving: str) -> None:
    refused = outcome(f"latest = tf.train.latest_checkpoint('model')\nif latest:\n    {leaving}\n")
    assert isinstance(refused, Refusal)
    assert {reason.code for reason in refused.reasons} == {"HVD205"}
