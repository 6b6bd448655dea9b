"""K3: callbacks of Keras' own that are had to decide with some batches."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=["mae"])
class Often(tf.keras.callbacks.{base}):
    n = 0
    def {hook}(self, batch, logs=None):
        self.n += 1
        if self.n % 50 == 0:
            {line}
model.fit(x, y, epochs=4, callbacks=[Often(monitor="loss")])
"""
SUPER = "super().on_epoch_end(self.n, logs)"


@pytest.mark.parametrize(
    ("base", "hook", "line", "asked"),
    [
        ("ReduceLROnPlateau", "on_train_batch_end", SUPER, True),
        ("EarlyStopping", "on_batch_end", "self.on_epoch_end(self.n, logs=logs)", True),
        ("EarlyStopping", "on_train_batch_end", "super().on_epoch_end(self.n, {'loss': logs['loss']})", True),
        ("ReduceLROnPlateau", "on_epoch_end", SUPER, False),  # averaged by then
        ("ReduceLROnPlateau", "on_train_batch_end", "super().on_train_batch_end(batch, logs)", False),
        ("ReduceLROnPlateau", "on_train_batch_end", "super().on_epoch_end(self.n, {'loss': 1.0})", False),
        ("ModelCheckpoint", "on_train_batch_end", SUPER, False),  # rank 0's
    ],
)
def test_they_are_asked_about(base: str, hook: str, line: str, asked: bool) -> None:
    """Each rank lowered its rate by its own batches' losses, and stopped alone."""
    found = plan_of(PROGRAM.format(base=base, hook=hook, line=line)).to_confirm
    assert any("hand it the means over all ranks" in (c.doubt or "") for c in found) is asked
