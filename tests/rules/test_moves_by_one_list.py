"""Weights that are moved along a gradient and back by the same list, before the update that is made there (SAM)."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of, refused

STEP = """\
def sharp(x, y):
    weights = model.trainable_variables
    with tf.GradientTape() as first:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = first.gradient(loss, weights)
    norm = tf.linalg.global_norm(grads)
    moves = {moves}
    for v, e in zip(weights, moves):
        v.assign_add(e)
    {between}
    with tf.GradientTape() as second:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    there = second.gradient(loss, weights)
    for v, e in zip({back}):
        v.{home}(e)
    opt.apply_gradients(zip(there, weights))
for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(4).repeat(9):
    sharp(x, y)
"""
MOVES = "[g * 0.05 / norm for g in grads]"


def program(
    moves: str = MOVES, between: str = "pass", back: str = "weights, moves", home: str = "assign_sub"
) -> str:
    return TAPE + STEP.format(moves=moves, between=between, back=back, home=home)


def test_both_tapes_average() -> None:
    """Rounding leaves the weights a little beside where they were: on all ranks alike, if they moved alike."""
    text = plan_of(program()).text
    assert "first = hvd.DistributedGradientTape(first)" in text
    assert "second = hvd.DistributedGradientTape(second)" in text


@pytest.mark.parametrize(
    "source",
    [
        program(between="moves = [e * 2 for e in moves]"),
        program(home="assign_add"),
        program(back="weights, there"),
        program(back="model.trainable_weights, moves"),
        program(moves="map(lambda g: g * 0.05, grads)"),  # gone through once
    ],
)
def test_what_does_not_go_back_is_refused(source: str) -> None:
    refused(source, "HVD202")
