"""D2: noise that a layer draws for a whole batch, which a rank's last one may not be."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense, Input, Lambda, Layer
x, batch_size = np.load('x.npy'), 32
{}
model.compile('adam', 'mse')
model.fit(x, x, batch_size={})
"""
LAMBDA = """\
def sample(mean):
    return mean + K.random_normal(shape={})
inputs = Input((6,))
model = tf.keras.Model(inputs, Dense(6)(Lambda(sample)(inputs)))
"""
LAYER = """\
class Noise(Layer):
    def {}(self, x):
        return x + tf.random.normal(({}, 6))
model = tf.keras.Sequential([Noise(), Dense(6)])
"""


def noted(model: str, size: str = "batch_size") -> list[str]:
    plan = plan_of(HEAD.format(model, size))
    return [plan.document.text[n.span.start : n.span.end] for n in plan.notes if "draws noise" in n.message]


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (LAMBDA.format("(K.shape(mean)[0], 6)"), "batch_size"),
        (LAMBDA.format("(1, 6)"), "batch_size"),  # one for all rows
        (LAMBDA.format("(batch_size, 6)").replace("Lambda(sample)", "Dense(6)"), "batch_size"),  # to look at
        (LAYER.format("show", "batch_size"), "batch_size"),
        (LAYER.format("call", "16"), "batch_size"),
    ],
)
def test_noise_for_the_rows_that_are_there_is_left(model: str, size: str) -> None:
    assert noted(model, size) == []


@pytest.mark.parametrize("model", [LAMBDA.format("(batch_size, 6)"), LAYER.format("call", "32")])
def test_noise_for_a_whole_batch_is_said(model: str) -> None:
    assert len(noted(model)) == len(noted(model, "32")) == 1
