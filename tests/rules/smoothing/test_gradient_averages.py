"""G7: averages of what gradients measure go by the rows seen; momentum and what a skipped step sets back stay."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.legacy.SGD(0.1)
usual = {first}
scale = 1024.0
for a in tf.data.Dataset.from_tensor_slices(x).batch(16):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(a) ** 2) * scale
    w = model.trainable_variables
    g = [v / scale for v in tape.gradient(loss, w)]
{step}
"""
CLIPPED = (
    "    g, norm = tf.clip_by_global_norm(g, 2 * usual)\n    optimizer.apply_gradients(zip(g, w))\n    {}"
)
LEFT_OUT = "    norm = tf.linalg.global_norm(g)\n    if norm < 3 * usual:\n        optimizer.apply_gradients(zip(g, w))\n    {}"


@pytest.mark.parametrize("step", [CLIPPED, LEFT_OUT])
@pytest.mark.parametrize(
    ("first", "moved", "after"),
    [
        (
            "1.0",
            "usual = 0.9 * usual + 0.1 * float(norm)",
            "usual = 0.9 ** hvd.size() * usual + (1 - 0.9 ** hvd.size()) * float(norm)",
        ),
        (
            "1.0",
            "usual += 0.1 * (float(norm) - usual)",
            "usual += (1 - (1 - 0.1) ** hvd.size()) * (float(norm) - usual)",
        ),
        (
            "tf.Variable(1.0)",
            "usual.assign(0.9 * usual + 0.1 * norm)",
            "usual.assign(0.9 ** hvd.size() * usual + (1 - 0.9 ** hvd.size()) * norm)",
        ),
    ],
)
def test_an_average_of_norms_forgets_as_fast(step: str, first: str, moved: str, after: str) -> None:
    assert f"    {after}\n" in plan_of(SOURCE.format(first=first, step=step.format(moved))).text


def test_momentum_stays() -> None:
    step = "    usual = 0.9 * usual + 0.1 * g[0]\n    optimizer.apply_gradients([(usual, w[0])])"
    assert step in plan_of(SOURCE.format(first="0.0", step=step)).text


BACK = "        scale /= 2\n"


@pytest.mark.parametrize(
    "step",
    [
        f"    if not np.isfinite(g[0]).all():\n{BACK}        continue\n    optimizer.apply_gradients(zip(g, w))",
        f"    if np.isfinite(g[0]).all():\n        optimizer.apply_gradients(zip(g, w))\n    else:\n{BACK}",
    ],
)
def test_what_a_step_that_is_left_out_sets_back_stays(step: str) -> None:
    """One bad row leaves out one step of all ranks: on 16 ranks the scale was divided by 65,536."""
    assert BACK in plan_of(SOURCE.format(first="1.0", step=step)).text


def test_what_goes_down_with_each_step_goes_as_far() -> None:
    step = "    optimizer.apply_gradients(zip(g, w))\n    scale /= 2"
    assert "    scale /= 2 ** hvd.size()\n" in plan_of(SOURCE.format(first="1.0", step=step)).text
