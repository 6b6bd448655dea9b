"""G5: numbers of batches, of which Keras tells a callback one in so many."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf

EACH, ONE = 10, 1

class Saves(tf.keras.callbacks.Callback):
    seen = 0
    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if {}:
            self.model.save_weights("w")

x, y = np.ones((16000, 4), "float32"), np.ones((16000, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse"{})
model.fit(x, y, batch_size=16, epochs=2, callbacks=[Saves()])
"""


def asked(test: str, given: str) -> bool:
    return any("steps_per_execution" in c.doubt for c in plan_of(PROGRAM.format(test, given)).to_confirm)


@pytest.mark.parametrize("given", [", steps_per_execution=10", ", steps_per_execution=EACH"])
@pytest.mark.parametrize(
    "test", ["batch % 100 == 99", "(batch + 1) % 100 == 0", "batch == 499", "not (batch + 1) % 100"]
)
def test_one_number_of_those_that_are_told_is_asked_about(test: str, given: str) -> None:
    assert asked(test, given)


@pytest.mark.parametrize(
    ("test", "given"),
    [
        ("batch % 100 == 99", ""),
        ("batch % 100 == 99", ", steps_per_execution=1"),
        ("batch % 100 == 99", ", steps_per_execution=ONE"),
        ("batch >= 499", ", steps_per_execution=10"),
        ("self.seen % 10 == 0", ", steps_per_execution=10"),
    ],
)
def test_what_is_met_in_any_case_is_not(test: str, given: str) -> None:
    assert not asked(test, given)
