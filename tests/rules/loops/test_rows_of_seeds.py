"""K4, D3: generators that are told their seed where they are called, for training and for validation."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf


def batches({parameter}):
    rng = {made}
    while True:
        x = rng.normal(size=(32, 6)).astype("float32")
        yield x, x.sum(1, keepdims=True)


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
held = batches({validated})
model.fit(batches({trained}), steps_per_epoch=40, validation_data=held, validation_steps=8)
"""


def text(
    trained: str, validated: str, parameter: str = "seed=None", made: str = "np.random.default_rng(seed)"
) -> str:
    return plan_of(SOURCE.format(trained=trained, validated=validated, parameter=parameter, made=made)).text


@pytest.mark.parametrize(
    ("trained", "validated", "parameter", "made"),
    [
        ("", "seed=1", "seed=None", "np.random.default_rng(seed)"),
        ("", "1", "seed=None", "np.random.RandomState(seed)"),
        ("None", "", "seed=3", "np.random.default_rng(seed)"),
        ("np.random.default_rng()", "np.random.default_rng(1)", "rng", "rng"),
    ],
)
def test_what_is_validated_by_one_seed_is_dealt_out(
    trained: str, validated: str, parameter: str, made: str
) -> None:
    """All ranks validated on the same first 1/size() of the batches."""
    plan = text(trained, validated, parameter, made)
    assert "validation_data=shard_batches(held), validation_steps=max(1, 8 // hvd.size())" in plan
    assert f"model.fit(batches({trained})," in plan


def test_no_rank_trains_on_what_another_validates_on() -> None:
    """Rank 1 drew by the seed of rank 0's validation: 0 + 1."""
    plan = text("seed=0", "seed=1", "seed")
    assert "rng = np.random.default_rng(seed * hvd.size() + hvd.rank())" in plan


def test_one_seed_for_both_needs_no_more_than_the_rank() -> None:
    assert "default_rng(seed + hvd.rank())" in text("seed=4", "seed=4", "seed")


def test_draws_by_no_seed_differ_as_they_are() -> None:
    plan = text("", "")
    assert "validation_data=held, validation_steps=max(1, 8 // hvd.size())" in plan
    assert "shard_batches" not in plan
