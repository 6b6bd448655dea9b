"""G5: datasets that change their elements by how many there were before."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
step, strength = tf.Variable(0.0), tf.Variable(1.0)
count = 0
def counted(a, b):
    step.assign_add(1.0)
    return a * (1 - step / 900.0), b
def shown(a, b):
    step.assign_add(1.0)
    return a, b
def by_number(i, p):
    return p[0] * (1 - tf.cast(i, tf.float32) / 900.0), p[1]
def in_python(a):
    global count
    count += 1
    return a * (1 - count / 900)
def own(a):
    count = 0
    count += 1
    return a * (1 - count / 900)
def weaker(a, b):
    return a * strength, b
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100).repeat(5).batch(16)
model.fit({data}, {given}epochs=2)
"""


def doubts(data: str, given: str = "") -> list[str]:
    asked = [c.doubt or "" for c in plan_of(PROGRAM.format(data=data, given=given)).to_confirm]
    return [d for d in asked if "elements of one rank" in d]


@pytest.mark.parametrize(
    "data",
    [
        "ds.map(counted)",
        "ds.map(counted).prefetch(1)",
        "ds.enumerate().map(by_number)",
        "ds.enumerate().map(lambda i, p: (p[0] * 0.99 ** tf.cast(i, tf.float32), p[1]))",
        "ds.map(lambda a, b: (tf.numpy_function(in_python, [a], tf.float32), b))",
    ],
)
def test_what_elements_are_changed_by_is_asked_about(data: str) -> None:
    assert len(doubts(data)) == 1


@pytest.mark.parametrize(
    ("data", "given"),
    [
        ("ds.map(shown)", ""),  # nothing is made of the count
        ("ds.map(weaker)", ""),  # of what a callback sets
        ("ds.map(lambda a, b: (tf.numpy_function(own, [a], tf.float32), b))", ""),
        ("ds.enumerate().map(lambda i, p: p)", ""),
        ("ds.enumerate().filter(lambda i, p: i % 5 != 0).map(lambda i, p: p)", ""),
        ("ds", "validation_data=ds.take(3).map(counted), "),  # not trained on
    ],
)
def test_what_counts_nothing_that_is_trained_on_is_not(data: str, given: str) -> None:
    assert not doubts(data, given)
