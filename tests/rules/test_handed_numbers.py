"""G5: functions that draw a step's rows, and are handed the count of steps: they go by those of all ranks once, not twice."""

from __future__ import annotations

import pytest

from .pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(256, 4).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.Adam(1e-3)
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(256).batch(16)
def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a) - b))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
OF_ROWS = "for step, (a, b) in enumerate(ds.repeat().take(300)):\n    train_step(make(a, step), b)\n"
OF_TURNS = "for step in range(300):\n    a = make(x[:16], step)\n    train_step(a, a[:, :1])\n"


@pytest.mark.parametrize(
    "loop", [OF_ROWS, "for step in range(300):\n    a = make(16, step)\n    train_step(a, a[:, :1])\n"]
)
@pytest.mark.parametrize(
    ("body", "adapted"),
    [
        ("return np.random.rand(16, 4) * (step / 300.)", "(step * hvd.size() / 300.)"),
        ("sigma = max(0.1, 1 - step / 300.)\n    return np.random.rand(16, 4) * sigma", "1 - step * hvd.size() / 300."),
        ("k = 1 + step // 50\n    return np.random.rand(16, 4) * k", "step // max(1, 50 // hvd.size())"),
    ],
)  # fmt: skip
def test_what_computes_with_the_count_where_it_stands_is_not_told_by_the_call_too(
    loop: str, body: str, adapted: str
) -> None:
    """Both were told: rows were drawn as after size() times as many steps as there were."""
    text = plan_of(HEAD + f"def make(a, step):\n    {body}\n" + loop).text
    assert adapted in text
    assert "step * hvd.size())" not in text.partition("for step")[2]


def test_what_is_handed_on_is_looked_at_where_it_ends_up() -> None:
    body = "def share(n):\n    return min(1.0, n / 200)\n"
    body += "def make(a, step):\n    return a + share(step) * np.random.rand(16, 4)\n"
    text = plan_of(HEAD + body + OF_ROWS).text
    assert "min(1.0, n * hvd.size() / 200)" in text
    assert "make(a, step), b)" in text


def test_a_weight_that_draws_nothing_is_told_where_it_is_computed() -> None:
    """The rows that are counted were drawn at the beginning, so `weight` was taken to draw some."""
    body = "def weight(step):\n    return 10.0 * np.exp(-5 * (1 - step / 100) ** 2)\n"
    loop = "for step, (a, b) in enumerate(ds.repeat().take(300)):\n    w = weight(step)\n    train_step(a * w, b)\n"
    text = plan_of(HEAD + body + loop).text
    assert "1 - step * hvd.size() / 100" in text
    assert "w = weight(step)\n" in text


@pytest.mark.parametrize(
    "body",
    [
        "return np.random.rand(16, min(4, step))",
        "return np.random.rand(16, 4) * np.interp(step, [0, 9], [0, 1])",
    ],
)
def test_what_is_not_adapted_inside_is_told_by_the_call(body: str) -> None:
    """Near miss."""
    text = plan_of(HEAD + f"def make(a, step):\n    {body}\n" + OF_TURNS.replace("x[:16]", "16")).text
    assert "make(16, step * hvd.size())" in text


def test_one_that_is_adapted_in_part_is_asked_about() -> None:
    body = "k = min(step, 100)\n    if step > 50:\n        k = 2 * k\n    return np.random.rand(16, 4) * k"
    plan = plan_of(HEAD + f"def make(a, step):\n    {body}\n" + OF_TURNS.replace("x[:16]", "16"))
    assert "make(16, step)" in plan.text
    assert [c for c in plan.changes if c.rule == "G5" and "only some of what is computed" in c.doubt]
