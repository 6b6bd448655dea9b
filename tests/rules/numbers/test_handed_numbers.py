"""G5: functions that draw a step's rows, and are handed the count of steps: they go by those of all ranks once, not twice."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

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
        "return np.random.rand(16, 4) * np.clip(step, 0, 9)",
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


# ---------------------------------------------------------------------- functions that are asked in several places

RATES = """\
{function}
step = 0
for epoch in range(10):
    for a, b in ds:
        {counted}
        opt.learning_rate.assign(0.01 * f({step}))
        train_step(a * f({step}), b)
        step += 1
"""


def lines_of(function: str, counted: str = "pass", step: str = "step") -> list[str]:
    text = plan_of(HEAD + RATES.format(function=function, counted=counted, step=step)).text
    return [line.strip() for line in text.splitlines()]


@pytest.mark.parametrize(
    "function",
    [
        "f = lambda step: 0.9 ** (step / 20)",
        "def f(step):\n    for bound, value in ((30, 1.0), (90, 0.5)):\n        if step < bound:\n            return value\n"
        "    return 0.1",
        "def f(step):\n    if step < 40:\n        return step / 40\n    return 0.5",
    ],
)
def test_a_function_that_one_call_tells_is_told_by_each(function: str) -> None:
    """A rate's call told it the steps of all ranks, and a weight's the rank's own."""
    lines = lines_of(function)
    assert "opt.learning_rate.assign(0.01 * f(step * hvd.size()) * hvd.size())" in lines
    assert "train_step(a * f(step * hvd.size()), b)" in lines
    assert not [line for line in lines if "f(" not in line and "step * hvd.size()" in line]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("def f(step):\n    return min(1.0, step / 100)", "return min(1.0, step * hvd.size() / 100)"),
        ("f = lambda step: 0.9 ** (step / 20)", "f = lambda step: 0.9 ** (step * hvd.size() / 20)"),
        (
            "def f(step):\n    s = float(step)\n    part = s / 100\n    return max(1 - part, 0.05)",
            "part = s * hvd.size() / 100",
        ),
        (
            "import functools\ndef g(step, total):\n    return min(1.0, step / total)\nf = functools.partial(g, total=90)",
            "return min(1.0, step * hvd.size() / total)",
        ),
        (
            "def f(step):\n    if step < 40:\n        return step / 40\n    return 0.5",
            "return step * hvd.size() / 40",
        ),
        ("def f(step):\n    return 0.5 ** (step // 20)", "return 0.5 ** (step // (20 // hvd.size()))"),
    ],
)
def test_what_an_optimizer_counts_is_told_once(function: str, told: str) -> None:
    """`it = int(opt.iterations)`: what is divided in the function was taken for an epoch's number, and told the steps of all
    ranks; the rate that asks it told it them again, and went size() times too fast."""
    lines = lines_of(function, "it = int(opt.iterations)", "it")
    assert "opt.learning_rate.assign(0.01 * f(it) * hvd.size())" in lines
    assert "train_step(a * f(it), b)" in lines
    assert [line for line in lines if "hvd.size()" in line and line.startswith(told[:12])], lines


def test_a_table_of_numbers_that_a_function_looks_up_goes_by_the_steps_of_all() -> None:
    """Weights that are computed for each step; rows of data are selected by a rank's own number."""
    for table, told in (
        ("np.linspace(1.0, 0.1, 200)", "[step * hvd.size()]"),
        ("np.concatenate([np.linspace(1.0, 0.1, 100), np.full(100, 0.1)])", "[step * hvd.size()]"),
        ("np.repeat([1.0, 0.5, 0.1, 0.01], 50)", "[step * hvd.size()]"),
        ("np.load('x.npy')", "[step]"),
        ("np.zeros(200)", "[step]"),  # filled by the program, one for each step that it takes
    ):
        body = f"TABLE = {table}\ndef f(step):\n    return float(TABLE[step])\n"
        text = plan_of(HEAD + body + OF_ROWS.replace("make(a, step)", "a * f(step)")).text
        assert f"return float(TABLE{told})" in text
