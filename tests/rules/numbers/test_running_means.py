"""Means that a program keeps of the rows it has seen, and trains with."""

from __future__ import annotations

import pytest

from ..pairs import doubts, plan_of

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


TAPE = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
class Running:
    def __init__(self):
        self.mean, self.n = {mean}, {n}
    def update(self, x):
        {update}
norm = Running()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)
for a, b in tf.data.Dataset.from_tensor_slices((x, y)).batch(20):
    norm.update(a)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a - norm.mean) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
VARIABLES = {"mean": "tf.Variable(tf.zeros(4), trainable=False)", "n": "tf.Variable(0.0, trainable=False)"}
NUMBERS = {"mean": "np.zeros(4)", "n": "0.0"}


@pytest.mark.parametrize(
    ("begun", "update", "stays"),
    [
        (
            VARIABLES,
            "rows = tf.cast(tf.shape(x)[0], tf.float32); total = self.n + rows; delta = tf.reduce_mean(x, 0) - self.mean; "
            "self.mean.assign_add(delta * rows / total); self.n.assign(total)",
            "total = self.n + rows;",
        ),
        (
            NUMBERS,
            "rows = len(x); total = self.n + rows; new = self.mean + (x.numpy().mean(0) - self.mean) * rows / total; "
            "self.mean, self.n = new, total",
            "total = self.n + rows;",
        ),
        (NUMBERS, "new = 0.9 * self.mean + 0.1 * x.numpy().mean(0); self.mean = new", "self.mean = new"),
        (NUMBERS, "a, b = x.numpy().mean(0), 0.1; self.mean = (1 - b) * self.mean + b * a", "b * a"),
    ],
)
def test_a_mean_is_asked_about_and_its_count_is_a_ranks_own(
    begun: dict[str, str], update: str, stays: str
) -> None:
    text = TAPE.format(**begun, update=update)
    plan = plan_of(text)
    assert any("differs more and more" in doubt for doubt in doubts(plan, "G2"))
    assert stays in plan.text


def test_rows_that_a_weight_goes_by_are_those_of_all_ranks() -> None:
    update = "self.n.assign(self.n + tf.cast(tf.shape(x)[0], tf.float32))"
    text = TAPE.replace("** 2)", "** 2) * tf.minimum(1.0, norm.n / 3000.0)").format(
        **VARIABLES, update=update
    )
    assert "tf.cast(tf.shape(x)[0], tf.float32) * hvd.size()" in plan_of(text).text
