"""D2: rows that a preprocessing layer of Keras gives are rows."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

FIT = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
data = np.load("x.npy")
{}
model = tf.keras.Sequential([layers.Dense(4)])
model.compile("adam", "mse")
model.fit(rows, data, epochs=3)
"""


@pytest.mark.parametrize(
    "made",
    [
        "norm = layers.Normalization()\nnorm.adapt(data)\nrows = norm(data)",
        "rows = layers.experimental.preprocessing.Rescaling(1 / 255)(data)",
        "scale = tf.keras.layers.Rescaling(1 / 255)\nrows = scale(data)[..., 0]",
    ],
)
def test_they_are_divided(made: str) -> None:
    text = plan_of(FIT.format(made)).text
    assert "model.fit(shard(rows), shard(data)" in text or "model.fit(rows[share], data[share]" in text
    assert "norm.adapt(data)" in text or "norm" not in made  # of all rows


def test_what_a_model_gives_is_not_known_to_be_rows() -> None:
    made = "net = tf.keras.Sequential([layers.Dense(4)])\nrows = net(data)"
    plan = plan_of(FIT.format(made).replace("rows, data,", "rows,"))
    assert "not divided" in " ".join(n.message for n in plan.notes)
