"""C6: what rank 0 keeps as the best by its own rows is said."""

from __future__ import annotations

import pytest

from .pairs import plan_of

LOOP = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
seen, wanted = np.load("held_x.npy"), np.load("held_y.npy")
rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
held = tf.data.Dataset.from_tensor_slices((seen, wanted)).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def error(a, b):
    return tf.reduce_mean((model(a) - b) ** 2)
def step(a, b):
    with tf.GradientTape() as tape:
        loss = {loss}
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
best, worst = float("inf"), 0.0
for epoch in range(9):
    losses, total, n = [], 0.0, 0
    for a, b in rows:
        loss = step(a, b)
        losses.append(float(loss)); total += float(loss); n += 1
    {measure}
    {keep}
"""
MEAN = "mean = total / n"
KEEP = "if mean < best: best = mean; model.save('best.h5')"
OWN = "tf.reduce_mean((model(a) - b) ** 2)"


def is_said(measure: str = MEAN, keep: str = KEEP, loss: str = OWN) -> bool:
    plan = plan_of(LOOP.format(measure=measure, keep=keep, loss=loss))
    return any("which checkpoint is the best" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    "measure", [MEAN, "mean = np.mean(losses)", "mean = losses[-1]", "mean = float(total) / n"]
)
@pytest.mark.parametrize(
    "keep",
    [
        KEEP,
        "if best > mean: best = mean; model.save_weights('best.h5')",
        "if epoch and mean < best: model.save('best.h5'); best = mean",
    ],
)
def test_the_best_by_the_rows_of_rank_0_is_said(measure: str, keep: str) -> None:
    assert is_said(measure, keep)


def test_also_where_the_mean_has_no_name() -> None:
    assert is_said("pass", "if total / n < best: best = total / n; model.save('best.h5')")


@pytest.mark.parametrize(
    ("measure", "keep", "loss"),
    [
        ("mean = float(error(seen, wanted))", KEEP, OWN),  # the same rows on all ranks
        ("mean = float(error(seen, wanted))", KEEP, "error(a, b)"),
        ("mean = np.mean([float(error(a, b)) for a, b in held])", KEEP, "error(a, b)"),
        (MEAN, "if mean < best: best = mean; print(mean)", OWN),  # nothing is saved
        (MEAN, "if mean < 0.1: model.save('best.h5')", OWN),  # no best
        (MEAN, "if mean < best: worst = mean; model.save('best.h5')", OWN),
        (MEAN, "if epoch < best: best = epoch; model.save('best.h5')", OWN),
        (MEAN, f"{KEEP}\n    else: break", OWN),  # by the mean over all ranks
    ],
)
def test_what_all_ranks_measure_alike_or_decide_together_is_not(measure: str, keep: str, loss: str) -> None:
    assert not is_said(measure, keep, loss)
