"""C6: what is kept as the best is so by all rows, or it is said that rank 0 goes by its own."""

from __future__ import annotations

import pytest

from horovodize.plan import Plan

from ..pairs import plan_of

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


def plan(measure: str = MEAN, keep: str = KEEP, loss: str = OWN) -> Plan:
    return plan_of(LOOP.format(measure=measure, keep=keep, loss=loss))


def is_said(measure: str = MEAN, keep: str = KEEP, loss: str = OWN) -> bool:
    return any("which checkpoint is the best" in n.message for n in plan(measure, keep, loss).notes)


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
def test_the_best_is_that_of_all_rows(measure: str, keep: str) -> None:
    assert f"mean = mean_over_ranks({measure.removeprefix('mean = ')})" in plan(measure, keep).text
    assert not is_said(measure, keep)


def test_also_where_the_mean_has_no_name() -> None:
    keep = "if total / n < best: best = total / n; model.save('best.h5')"
    assert "\n    total = mean_over_ranks(total)\n" in plan("pass", keep).text
    assert not is_said("pass", keep)


@pytest.mark.parametrize(
    "keep", ["if mean == min(means): model.save('best.h5')", "if mean <= min(means): keep()"]
)
def test_also_where_it_is_the_best_of_a_list(keep: str) -> None:
    source = LOOP.replace("best, worst", "means = []\ndef keep(): model.save('best.h5')\nbest, worst")
    text = plan_of(source.format(measure=f"{MEAN}\n    means.append(mean)", keep=keep, loss=OWN)).text
    assert "mean = mean_over_ranks(total / n)" in text


def test_what_a_function_is_told_is_averaged_where_all_ranks_come() -> None:
    source = LOOP.replace(
        "best, worst",
        "class Saver:\n    best = 1e9\n    def __call__(self, value):\n        if value < self.best:\n"
        "            self.best = value\n            model.save('best.h5')\nsaver = Saver()\nbest, worst",
    )
    text = plan_of(source.format(measure="saver(np.mean(losses))", keep="pass", loss=OWN)).text
    assert "saver(mean_over_ranks(np.mean(losses)))" in text


@pytest.mark.parametrize(
    ("measure", "keep"),
    [
        (
            "pass",
            "if meter.result() < best: best = meter.result(); model.save('best.h5')",
        ),  # set on rank 0 alone
        (
            "pass",
            "if epoch % 2:\n        mean = total / n\n        if mean < best: best = mean; model.save('b.h5')",
        ),
    ],
)
def test_what_rank_0_alone_reads_or_sets_is_said(measure: str, keep: str) -> None:
    source = LOOP.replace("best, worst", "meter = tf.keras.metrics.Mean()\nbest, worst").replace(
        "loss = step(a, b)\n", "loss = step(a, b); meter.update_state(loss)\n"
    )
    notes = plan_of(source.format(measure=measure, keep=keep, loss=OWN)).notes
    assert any("which checkpoint is the best" in n.message for n in notes)


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
    assert "mean_over_ranks(float(error" not in plan(measure, keep, loss).text
