"""G5: steps of a turn, of whose way the weights go a part only, are asked about."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

REPTILE = """\
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
opt = tf.keras.optimizers.SGD(0.02)
first = [v.numpy() for v in model.trainable_variables]


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def turn(size):
    old = {kept}
    task = rng.uniform(1, 2)
    for _ in range({steps}):
        x = rng.uniform(-3, 3, size=(8, 1)).astype("float32")
        step(x, task * x)
    {sets}


for number in range(400):
    turn(0.1)
"""
KEPT = "[v.numpy() for v in model.trainable_variables]"
EACH = "for v, o in zip(model.trainable_variables, old):\n        v.assign({})"


def asked(kept: str = KEPT, steps: str = "4", sets: str = EACH.format("o + size * (v - o)")) -> int:
    plan = plan_of(REPTILE.format(kept=kept, steps=steps, sets=sets))
    return sum("goes a part of the way that its own steps went" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("kept", "sets"),
    [
        (KEPT, EACH.format("o + size * (v - o)")),
        ("[tf.identity(v) for v in model.trainable_variables]", EACH.format("(1 - size) * o + size * v")),
        (
            "model.get_weights()",
            "model.set_weights([o + size * (n - o) for o, n in zip(old, model.get_weights())])",
        ),
    ],
)
def test_weights_that_go_a_part_of_their_steps_way_are_asked_about(kept: str, sets: str) -> None:
    assert asked(kept=kept, sets=sets) == 1


@pytest.mark.parametrize(
    ("kept", "sets"),
    [
        (KEPT, "print(old)"),
        ("first", EACH.format("o")),  # begins again
        ("first", EACH.format("o + size * (v - o)")),  # kept before all turns
        (KEPT, "for v in model.trainable_variables:\n        v.assign(0.9 * v)"),
    ],
)
def test_near_misses_are_left(kept: str, sets: str) -> None:
    assert asked(kept=kept, sets=sets) == 0
