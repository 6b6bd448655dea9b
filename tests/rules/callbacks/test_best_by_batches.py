"""K3: checkpoints of which the best is chosen between the ends of epochs."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, epochs=4, callbacks=[tf.keras.callbacks.ModelCheckpoint("m.h5", monitor="loss", {given})])
"""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("save_best_only=True, save_freq=100", True),
        ("save_best_only=True, save_freq=len(x) // 4", True),
        ("save_best_only=True", False),
        ("save_best_only=True, save_freq='epoch'", False),
        ("save_freq=100", False),
        ("save_best_only=False, save_freq=100", False),
    ],
)
def test_that_rank_0_chooses_by_its_own_batches_is_said(given: str, said: bool) -> None:
    notes = [n.message for n in plan_of(PROGRAM.format(given=given)).notes]
    assert any("which checkpoint is the best" in n for n in notes) is said
