"""D1: data sets that a call unpacks for a function, `train(*data())`, are divided as if each were passed by itself."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf


def data():
    full = tf.data.Dataset.from_tensor_slices(np.load("x.npy"))
    return full.take(64).shuffle(64).batch(8), full.skip(8).batch(8)


{}
"""
TRAIN = """\
def train({parameters}):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    opt = tf.keras.optimizers.SGD(0.1)
    for epoch in range(3):
        for a in rows:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(a) ** 2)
            opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    print([float(tf.reduce_mean(model(a))) for a in val])


{call}"""
BY_HAND = "shard_dataset(full.take(64)).shuffle(64).batch(8), full.skip(8).batch(8)"


def _plan(parameters: str, call: str):
    return plan_of(PROGRAM.format(TRAIN.format(parameters=parameters, call=call)))


@pytest.mark.parametrize(
    ("parameters", "call"),
    [
        ("rows, val", "train(*data())"),
        ("epochs, rows, val", "train(3, *data())"),
        ("rows, val, epochs=3", "train(*data(), epochs=2)"),
        ("rows, val", "both = data()\ntrain(*both)"),
        ("rows, val=None", "train(*data())"),
    ],
)
def test_what_is_unpacked_is_divided_where_it_is_made(parameters: str, call: str) -> None:
    plan = _plan(parameters, call)
    assert BY_HAND in plan.text
    assert not [c for c in plan.changes if c.doubt]


def test_of_a_method() -> None:
    body = TRAIN.format(parameters="self, rows, val", call="Trainer().train(*data())")
    made, call = body.rsplit("\n\n\n", 1)
    lines = "\n".join(f"    {line}" if line else line for line in made.split("\n"))
    assert BY_HAND in plan_of(PROGRAM.format(f"class Trainer:\n{lines}\n\n\n{call}")).text


@pytest.mark.parametrize(
    ("parameters", "call"),
    [
        ("rows, val", "train(*reversed(data()))"),
        ("rows, val", "train(*(data() if len(np.load('x.npy')) > 3 else input()))"),
        ("rows, val, *more", "train(*[d for d in data()], *data())"),
    ],
)
def test_what_can_not_be_counted_is_asked_about(parameters: str, call: str) -> None:
    """Which of them is trained on can't be seen."""
    plan = _plan(parameters, call)
    assert [c for c in plan.changes if c.doubt] or BY_HAND in plan.text
