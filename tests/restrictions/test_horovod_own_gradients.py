"""Decisions by gradients that no rank has averaged yet: each takes them for itself."""

from __future__ import annotations

import pytest

from .helpers import codes

PROGRAM = """\
import tensorflow as tf
import horovod.tensorflow as hvd
from helpers import shared

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
hvd.broadcast_variables(model.variables, root_rank=0)


def computed(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    return loss, tape.gradient(loss, model.trainable_variables)


def are_finite(given):
    return all(bool(tf.reduce_all(tf.math.is_finite(g))) for g in given)


def average(given):
    return [hvd.allreduce(g) for g in given]


for x in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10).take(50):
    loss, gradients = computed(x)
    {before}
    gradients = average(gradients)
    {after}
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
NORM = "float(tf.linalg.global_norm(gradients))"


@pytest.mark.parametrize(
    "before",
    [
        f"if {NORM} > 100.0:\n        continue",
        "norm = tf.linalg.global_norm(gradients)\n    if norm > 100.0:\n        break",
        "if not are_finite(gradients):\n        continue",
        "gradients, norm = tf.clip_by_global_norm(gradients, 1.0)\n    if norm > 100.0:\n        continue",
    ],
)
def test_a_rank_waits_for_those_that_leave_a_step_out_by_gradients_of_their_own(before: str) -> None:
    assert "HVD331" in codes(PROGRAM.format(before=before, after="pass"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pass", f"if {NORM} > 100.0:\n        continue"),
        (
            "norm = hvd.allreduce(tf.linalg.global_norm(gradients))\n    if norm > 100.0:\n        continue",
            "pass",
        ),
        ("if len(gradients) == 0:\n        continue", "pass"),
        ("if gradients[0] is None:\n        continue", "pass"),
        (f"gradients = shared(gradients)\n    if {NORM} > 100.0:\n        continue", "pass"),
        (f"if {NORM} > 100.0:\n        print('large')", "pass"),
    ],
)
def test_gradients_that_are_averaged_and_how_many_there_are_are_alike(before: str, after: str) -> None:
    assert "HVD331" not in codes(PROGRAM.format(before=before, after=after))


def test_a_tape_of_horovod_averages_before() -> None:
    averaged = PROGRAM.replace(
        "    return loss, tape", "    tape = hvd.DistributedGradientTape(tape)\n    return loss, tape"
    )
    averaged = averaged.replace("gradients = average(gradients)", "pass")
    assert "HVD331" not in codes(
        averaged.format(before=f"if {NORM} > 100.0:\n        continue", after="pass")
    )
