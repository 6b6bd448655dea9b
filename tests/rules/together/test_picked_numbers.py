"""Ranks that pick the best epoch by their own losses average the losses, not the numbers of epochs that these pick."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x, y = np.ones((512, 4), "float32"), np.ones((512, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).batch(16)
history, losses = [], {{}}
for epoch in range(20):
    total = 0.0
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        total += float(loss)
    {keeps}
    {picks}
    if {test}:
        break
"""
ENTRY = 'history.append({"epoch": epoch, "loss": total})'
AVERAGED = 'history.append({"epoch": epoch, "loss": mean_over_ranks(total)})'
LOSS, PAIR = "history.append(total)", "history.append((total, epoch))"


def text_of(keeps: str, picks: str, test: str) -> str:
    plan = plan_of(PROGRAM.format(keeps=keeps, picks=picks, test=test))
    assert not plan.to_confirm
    return plan.text


@pytest.mark.parametrize(
    ("keeps", "picks", "test", "after"),
    [
        (ENTRY, 'best = min(history, key=lambda h: h["loss"])', 'epoch - best["epoch"] >= 2', AVERAGED),
        (ENTRY, 'best = sorted(history, key=lambda h: h["loss"])[0]', 'epoch - best["epoch"] >= 2', AVERAGED),
        (ENTRY, 'history.sort(key=lambda h: h["loss"])', 'epoch - history[0]["epoch"] >= 2', AVERAGED),
        (ENTRY, 'when = min(history, key=lambda h: h["loss"])["epoch"]', "epoch - when >= 2", AVERAGED),
        (LOSS, "pass", "epoch - history.index(min(history)) >= 2", "history.append(mean_over_ranks(total))"),
        (
            LOSS,
            "best = min(range(len(history)), key=lambda i: history[i])",
            "epoch - best >= 2",
            "history.append(mean_over_ranks(total))",
        ),
        (
            LOSS,
            "best = int(np.argmin(history))",
            "epoch - best >= 2",
            "history.append(mean_over_ranks(total))",
        ),
        (
            PAIR,
            "best, when = min(history)",
            "epoch - when >= 2",
            "history.append((mean_over_ranks(total), epoch))",
        ),
        (
            PAIR,
            "best = min(history)",
            "epoch - best[1] >= 2",
            "history.append((mean_over_ranks(total), epoch))",
        ),
    ],
)
def test_what_they_pick_by_is_averaged(keeps: str, picks: str, test: str, after: str) -> None:
    text = text_of(keeps, picks, test)
    assert after in text
    assert f"    if {test}:\n" in text
    assert f"    {picks}\n" in text


def test_measures_in_a_table_are_asked_about() -> None:
    """What is put there isn't followed: the number of an epoch isn't averaged instead."""
    plan = plan_of(
        PROGRAM.format(
            keeps="losses[epoch] = total",
            picks="best = min(losses, key=losses.get)",
            test="epoch - best >= 2",
        )
    )
    assert plan.to_confirm
    assert "mean_over_ranks(best)" not in plan.text


@pytest.mark.parametrize("test", ["min(history[-3:]) > min(history)", "history[-1] > 2 * min(history)"])
def test_how_good_the_best_is_is_a_measure_itself(test: str) -> None:
    assert "mean_over_ranks(total)" in text_of(LOSS, "pass", test)
