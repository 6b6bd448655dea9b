"""D1: datasets of which a few ranks' batches would hold all rows."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

FIT = """\
import numpy as np
import tensorflow as tf
x = np.zeros(({rows}, 3), "float32")
ds = tf.data.Dataset.from_tensor_slices((x, x)){steps}
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(ds, epochs=3)
"""


def is_said(rows: int, steps: str) -> bool:
    plan = plan_of(FIT.format(rows=rows, steps=steps))
    return any("fewer rows than ranks" in note.message for note in plan.notes)


@pytest.mark.parametrize(
    ("rows", "steps", "said"),
    [
        (64, ".shuffle(64).batch(32)", True),
        (64, ".batch(32).repeat(3)", True),
        (64000, ".shuffle(64).take(64).batch(32)", True),
        (64, ".shuffle(64).batch(2)", False),
        (64, ".repeat().batch(32)", False),  # batches go on into the next round
        (64, ".repeat(9).batch(32)", False),
        (64000, ".batch(32)", False),
    ],
)
def test_it_is_said_where_both_numbers_are_constants(rows: int, steps: str, said: bool) -> None:
    assert is_said(rows, steps) == said
