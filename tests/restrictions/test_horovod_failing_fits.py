"""Fits in which one rank may fail by itself, and after which it waits for the others in something else."""

from __future__ import annotations

import pytest

from .helpers import codes

FITTED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def train(model):
    try:
        model.fit(x, y, batch_size=32)
    except CAUGHT:
        HANDLED
    THEN


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
train(model)
LATER
"""


def found(caught: str, handled: str, then: str = "pass", later: str = "pass") -> bool:
    text = FITTED.replace("CAUGHT", caught).replace("HANDLED", handled)
    return "HVD331" in codes(text.replace("THEN", then).replace("LATER", later))


WAITS = "hvd.allreduce(tf.constant(1.0))"


@pytest.mark.parametrize(
    "caught", ["Exception as e", "tf.errors.ResourceExhaustedError", "(OSError, MemoryError)"]
)
def test_a_rank_that_has_failed_waits_elsewhere(caught: str) -> None:
    assert found(caught, "print('failed')", then=WAITS)
    assert found(caught, "print('failed')", later=WAITS)
    assert found(caught, "return", later=WAITS)
    assert not found(caught, "raise", then=WAITS)
    assert not found(caught, "print('failed')")


@pytest.mark.parametrize("caught", ["KeyboardInterrupt", "OSError", "tf.errors.OutOfRangeError"])
def test_what_befalls_all_ranks_or_no_step(caught: str) -> None:
    assert not found(caught, "print('failed')", then=WAITS)
