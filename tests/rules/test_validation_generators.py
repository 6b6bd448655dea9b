"""K4: a generator that draws for training only is dealt out for validation, whose steps are divided."""

from __future__ import annotations

import pytest

from .pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")


def batches(low, high, shuffles{default}):
    order = np.arange(low, high)
    while True:
        if shuffles:
            np.random.shuffle(order)
        for i in range(0, len(order), 16):
            yield x[order[i : i + 16]], y[order[i : i + 16]]


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    batches(0, 320, True),
    steps_per_epoch=20,
    validation_data=batches(320, 400{shuffles}),
    validation_steps=5,
)
"""


@pytest.mark.parametrize(
    ("shuffles", "default", "dealt"),
    [
        (", False", "", True),
        (", shuffles=False", "", True),
        ("", "=False", True),
        (", True", "", False),  # each rank draws its own
        ("", "=True", False),
    ],
)
def test_ranks_validate_on_other_batches(shuffles: str, default: str, dealt: bool) -> None:
    """All ranks validated on the same 1/size() of the rows, other ones each time."""
    text = plan_of(SOURCE.format(shuffles=shuffles, default=default)).text
    given = next(line for line in text.splitlines() if "validation_data=" in line)
    assert "validation_steps=max(1, 5 // hvd.size())" in text
    assert (given.strip() != f"validation_data=batches(320, 400{shuffles}),") is dealt
