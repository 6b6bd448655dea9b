"""Means that a program keeps of the rows it has seen, and trains with."""

from __future__ import annotations

import pytest

from .pairs import doubts, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
class Scaler:
    def __init__(self):
        self.n, self.mean, self.total, self.width = 0, 0.0, 0.0, 3.0
    def update(self, batch):
        self.n += 1
        {update}
    def scaled(self, batch):
        return {scaled}
scaler = Scaler()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
for start in range(0, len(x), 32):
    batch = x[start:start + 32]
    scaler.update(batch)
    model.train_on_batch(scaler.scaled(batch), y[start:start + 32])
"""


@pytest.mark.parametrize(
    ("scaled", "after"),
    [
        ("batch * (1 - 1.0 / (1 + self.n))", "1.0 / (1 + self.n * hvd.size())"),
        ("batch + self.width / self.n", "self.width / (self.n * hvd.size())"),
        ("batch * (self.n / 1000)", "self.n * hvd.size() / 1000"),
    ],
)
def test_formulas_of_the_steps_are_told_those_of_all_ranks(scaled: str, after: str) -> None:
    plan = plan_of(HEAD.format(update="pass", scaled=scaled))
    assert after in plan.text
    assert not doubts(plan, "G5")


@pytest.mark.parametrize(
    ("update", "scaled"),
    [
        ("self.mean = self.mean + (batch.mean(0) - self.mean) / self.n", "batch - self.mean"),
        ("self.mean += (batch.mean(0) - self.mean) / self.n", "batch - self.mean"),
        ("self.total += batch.mean(0)", "batch - self.total / self.n"),
        ("self.total = self.total + batch.mean(0)", "batch - self.total / max(1, self.n)"),
    ],
)
def test_a_mean_of_what_a_rank_has_seen_is_asked_about(update: str, scaled: str) -> None:
    plan = plan_of(HEAD.format(update=update, scaled=scaled))
    assert "self.n * hvd.size()" not in plan.text
    assert [d for d in doubts(plan, "G5") if d.startswith("this mean is of what a rank has seen")]
