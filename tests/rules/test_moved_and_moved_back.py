"""Sharpness-aware minimization: variables are moved up averaged gradients, and back, before they are updated."""

from __future__ import annotations

import pytest

from .pairs import plan_of, refused

WRAP = "tape = hvd.DistributedGradientTape(tape)\n"
STEP = """\
import keras, tensorflow as tf
class SAM(keras.Model):
    def __init__(self, net):
        super().__init__()
        self.net, self.rho = net, 0.05
    def train_step(self, data):
        x, y = data
        params = self.net.trainable_variables
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self.net(x, training=True))
        gradients = tape.gradient(loss, params)
        scale = self.rho / (tf.linalg.global_norm(gradients) + 1e-12)
        moves = []
{there}
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self.net(x, training=True))
        sharp = tape.gradient(loss, params)
{back}
        self.optimizer.apply_gradients(zip(sharp, params))
        return {{"loss": loss}}
model = SAM(keras.Sequential([keras.layers.Dense(1)]))
model.compile(keras.optimizers.SGD(0.1), "mse")
model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8), epochs=2)
"""
BY_PAIRS = """\
        for p, g in zip(params, gradients):
            e = g * scale
            p.assign_add(e)
            moves.append(e)
"""
BY_NUMBER = """\
        for i in range(len(params)):
            e = tf.multiply(gradients[i], scale)
            params[i].assign_add(e)
            moves.append(e)
"""
BACK = """\
        for p, e in zip(params, moves):
            p.assign_sub(e)
"""
SKIPS = "if scale > 1:\n                continue\n"


LISTED = """\
        moves = [g * scale for g in gradients]
        for p, e in zip(params, moves):
            p.assign_add(e)
"""


@pytest.mark.parametrize("there", [BY_PAIRS, BY_NUMBER, LISTED], ids=["pairs", "numbers", "listed before"])
def test_both_gradients_are_averaged(there: str) -> None:
    """Moved by its own gradients, a rank would come back to other numbers than the rest."""
    plan = plan_of(STEP.format(there=there, back=BACK), tensorflow="2.21")
    assert plan.text.count(WRAP) == 2
    assert f"        {WRAP}        gradients = tape.gradient(" in plan.text
    assert "SGD(0.1 * hvd.size())" in plan.text
    assert not plan.to_confirm
    assert {c.rule for c in plan.changes if "tape" in c.what} == {"K7"}


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (BY_PAIRS, ""),
        (BY_PAIRS, BACK.replace("assign_sub(e)", "assign_sub(0.5 * e)")),
        (BY_PAIRS, BACK.replace("assign_sub", "assign_add")),
        (BY_PAIRS, BACK.replace("zip(params", "zip(self.net.trainable_weights[1:]")),
        (BY_PAIRS.replace("append(e)", "append(g)"), BACK),
        (LISTED, "        moves = [0.5 * e for e in moves]\n" + BACK),
        (LISTED, BACK.replace("zip(params", "zip(self.net.trainable_weights[1:]")),
        (BY_PAIRS.replace("            p.assign_add(e)", "            if scale > 1:\n                p.assign_add(e)"), BACK),
        (BY_PAIRS, BACK.replace("            p.assign", f"            {SKIPS}            p.assign")),
        (BY_PAIRS.replace("            moves.append(e)", "            if scale > 1:\n                moves.append(e)"), BACK),
    ],
)  # fmt: skip
def test_what_is_not_moved_back_by_as_much_is_refused(there: str, back: str) -> None:
    source = STEP.format(there=there, back=back)
    refused(source, "HVD202", "updated by hand from a gradient", tensorflow="2.21")
