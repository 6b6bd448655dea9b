"""G5: variables that a callback changes with each batch of `fit`: by steps from their last value, by a table of numbers."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

WEIGHT = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K


class WarmUp(tf.keras.callbacks.Callback):
    def __init__(self, weight):
        super().__init__()
        self.weight, self.table, self.n = weight, np.linspace(0.0, 1.0, 100), 0

    def on_train_batch_end(self, batch, logs=None):
        {}
        self.n += 1


x = np.load("x.npy")
w = K.variable(0.0)
i = tf.keras.Input((8,))
z = tf.keras.layers.Dense(3)(i)
model = tf.keras.Model(i, tf.keras.layers.Dense(8)(z))
model.add_loss(w * tf.reduce_mean(tf.square(z)))
model.compile("sgd", "mse")
model.fit(x, x, epochs=5, batch_size=32, callbacks=[WarmUp(w)])
"""


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("K.set_value(self.weight, min(1.0, K.get_value(self.weight) + 0.01))", "+ 0.01 * hvd.size()))"),
        ("self.weight.assign(tf.minimum(1.0, self.weight + 0.01))", "+ 0.01 * hvd.size()))"),
        ("self.weight.assign_add(0.01)", "assign_add(0.01 * hvd.size())"),
        ("self.weight.assign(self.weight * 0.99)", "self.weight * 0.99 ** hvd.size())"),
        (
            "K.set_value(self.weight, self.table[min(self.n, 99)])",
            "self.table[min(self.n * hvd.size(), 99)])",
        ),
        (
            "self.weight.assign(self.table[min(self.n, len(self.table) - 1)])",
            "[min(self.n * hvd.size(), len(self.table) - 1)])",
        ),
    ],
)
def test_a_weight_of_the_loss_grows_as_fast_for_the_rows_seen(line: str, after: str) -> None:
    """It grew size() times too slowly."""
    assert after in plan_of(WEIGHT.format(line)).text


@pytest.mark.parametrize(
    "line",
    [
        "self.weight.assign(0.5)",
        "self.last = self.table[min(self.n, 99)]",  # no variable
        "K.set_value(self.weight, self.table[0])",
    ],
)
def test_what_does_not_go_by_batches_stays(line: str) -> None:
    assert line in plan_of(WEIGHT.format(line)).text


def test_what_changes_with_epochs_stays() -> None:
    line = "K.set_value(self.weight, min(1.0, K.get_value(self.weight) + 0.01))"
    source = WEIGHT.replace("on_train_batch_end(self, batch", "on_epoch_end(self, epoch")
    assert line in plan_of(source.format(line)).text
