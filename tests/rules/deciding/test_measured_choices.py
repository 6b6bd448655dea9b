"""G4: networks that are chosen by a rank's own losses, in functions, or frozen by a draw."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import random
import numpy as np
import tensorflow as tf
NAMES = ["a", "b"]
x = np.random.RandomState(0).normal(size=(600, 4)).astype("float32")
trunk = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(8)])
heads = {n: tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(8,))]) for n in NAMES}
opt = tf.keras.optimizers.SGD(0.05)
losses = {n: 1.0 for n in NAMES}
rng = np.random.default_rng()
def by_losses():
    p = np.array([losses[n] for n in NAMES])
    return NAMES[rng.choice(len(NAMES), p=p / p.sum())]
def by_chance():
    return NAMES[np.random.choice(len(NAMES))]
def in_turn():
    return random.choice(NAMES)
"""
LOOP = """\
for step in range(120):
    name = {pick}()
    rows = np.random.randint(0, 600, 32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(heads[name](trunk(x[rows])) ** 2)
    variables = trunk.trainable_variables + heads[name].trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
    losses[name] = 0.9 * losses[name] + 0.1 * float(loss)
"""


def test_what_losses_choose_is_rank_0s_choice() -> None:
    text = plan_of(HEAD + LOOP.format(pick="by_losses")).text
    assert "    name = hvd.broadcast_object(by_losses())\n" in text
    assert "broadcast_new([*trunk.variables, *heads[name].variables, *opt.variables()])" in text


@pytest.mark.parametrize(
    ("pick", "drawn"),
    [("by_chance", "alike(np.random.choice)(len(NAMES))"), ("in_turn", "alike(random.choice)(NAMES)")],
)
def test_each_network_that_a_function_draws_is_sent(pick: str, drawn: str) -> None:
    text = plan_of(HEAD + LOOP.format(pick=pick)).text
    assert drawn in text
    assert "broadcast_new(" in text


TRAINED = """\
ds = tf.data.Dataset.from_tensor_slices(x).batch(20)
for epoch in range(4):
    for layer in trunk.layers:
        layer.trainable = {frozen}
    for a in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(trunk(a) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, trunk.trainable_variables), trunk.trainable_variables))
"""


@pytest.mark.parametrize(
    ("frozen", "after"),
    [
        ("random.random() < 0.7", "alike(random.random)() < 0.7"),
        ("bool(np.random.randint(2))", "bool(alike(np.random.randint)(2))"),
        ("epoch > 1", "epoch > 1"),
    ],
)
def test_all_ranks_freeze_the_same_layers(frozen: str, after: str) -> None:
    assert f"        layer.trainable = {after}\n" in plan_of(HEAD + TRAINED.format(frozen=frozen)).text
