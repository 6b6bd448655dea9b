"""G4: where batches are dealt out after they are made, it is said what each rank still does for all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import random
import numpy as np
import tensorflow as tf
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)


class Batches:
    def __init__(self, groups):
        self.groups = groups

    def __iter__(self):
        left = list(self.groups)
        while left:
            group = left.pop()
            yield {made}


def step(a):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(a) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


batches = Batches(np.split(np.arange(len(x)), 10))
for epoch in range(3):
    for a in batches:
        step(a)
"""
PREPARES = "every rank prepares the batches of all ranks here"


@pytest.mark.parametrize(
    ("made", "is_said"),
    [
        ("np.stack([x[k] / 255.0 for k in group])", True),  # row by row
        ("np.stack([np.load(f'{k}.npy') for k in group])", True),  # files
        ("x[group]", False),  # a part of an array
    ],
)
def test_what_every_rank_makes_of_the_batches_is_said(made: str, is_said: bool) -> None:
    """P6: the batches of an object that can't be asked for a rank's own are made by each rank, in silence."""
    plan = plan_of(PROGRAM.format(made=made))
    assert "in shard_batches(batches):" in plan.text
    assert any(PREPARES in note.message for note in plan.notes) is is_said
