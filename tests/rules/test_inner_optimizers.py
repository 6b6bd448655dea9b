"""The optimizer within one that scales losses: its rate is that of the whole, its iterations too."""

from __future__ import annotations

import pytest

from .pairs import plan_of

PROGRAM = """\
import tensorflow as tf
data = tf.data.Dataset.from_tensor_slices(load()).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
{made}
count = 0
for epoch in range(9):
    for x, y in data:
        {change}
        with tf.GradientTape() as tape:
            scaled = opt.get_scaled_loss(tf.reduce_mean(tf.square(model(x) - y)))
        grads = opt.get_unscaled_gradients(tape.gradient(scaled, model.trainable_variables))
        opt.apply_gradients(zip(grads, model.trainable_variables))
        count += 1
"""
MADE = "opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(0.01))"


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (
            "opt.inner_optimizer.learning_rate = 0.01 / (1 + count)",
            "opt.inner_optimizer.learning_rate = 0.01 / (1 + count * hvd.size()) * hvd.size()",
        ),
        (
            "opt.inner_optimizer.learning_rate.assign(0.001)",
            "opt.inner_optimizer.learning_rate.assign(0.001 * hvd.size())",
        ),
        (
            "tf.keras.backend.set_value(opt.inner_optimizer.lr, 0.001)",
            "tf.keras.backend.set_value(opt.inner_optimizer.lr, 0.001 * hvd.size())",
        ),
        (
            "if opt.inner_optimizer.iterations % 50 == 0: keep(model)",
            "if opt.inner_optimizer.iterations % max(1, 50 // hvd.size()) == 0: keep(model)",
        ),
    ],
)
def test_what_is_set_and_read_inside(change: str, after: str) -> None:
    assert f"        {after}\n" in plan_of(PROGRAM.format(made=MADE, change=change)).text


def test_what_is_called_so_elsewhere() -> None:
    """A field of a program's own is what the program puts there."""
    own = (
        "class Pair:\n    def __init__(self):\n        self.inner_optimizer = Settings()\npair = Pair()\n"
        "class Settings:\n    learning_rate = 0.5\n"
    )
    text = plan_of(PROGRAM.format(made=own + MADE, change="pair.inner_optimizer.learning_rate = 0.1")).text
    assert "pair.inner_optimizer.learning_rate = 0.1\n" in text
