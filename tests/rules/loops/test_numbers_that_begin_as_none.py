"""G4: tests of numbers that a rank measures, and that begin as None: only numbers are averaged over ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import tensorflow as tf
x, y = tf.ones((800, 4)), tf.ones((800, 1))
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
last = None
for e in range(100):
    for a, b in ds:
        loss = {loss}
"""
DOUBT = "when one of them would"


@pytest.mark.parametrize("loss", ["step(a, b)", "float(step(a, b))", "step(a, b).numpy()"])
@pytest.mark.parametrize(
    ("rest", "after"),
    [
        (
            "    if last is not None and abs(last - loss) < 1e-6:\n        break\n    last = loss\n",
            "if last is not None and abs(mean_over_ranks(last) - mean_over_ranks(loss)) < 1e-6:",
        ),
        (
            "    if last is None or loss < last:\n        last = loss\n    elif e > 10:\n        break\n",
            "if last is None or mean_over_ranks(loss) < mean_over_ranks(last):",
        ),
    ],
)
def test_whether_there_is_a_number_is_not_averaged(loss: str, rest: str, after: str) -> None:
    """`mean_over_ranks(None)` failed in the first turn."""
    plan = plan_of(HEAD.format(loss=loss) + rest)
    assert f"    {after}\n" in plan.text
    assert not plan.to_confirm


def test_a_number_that_only_some_ranks_have_is_asked_for_on_all() -> None:
    rest = "    if loss < 0.5:\n        last = loss\n    if last is not None:\n        break\n"
    plan = plan_of(HEAD.format(loss="float(step(a, b))") + rest)
    assert "    if any_rank(last is not None):\n" in plan.text
    assert [c for c in plan.to_confirm if DOUBT in c.doubt]


def test_a_number_that_any_rank_may_end_a_loop_by_is_asked_about() -> None:
    """The first rank whose own loss rose ended all, silently."""
    plan = plan_of(
        HEAD.format(loss="float(step(a, b))")
        + "    if last and loss > last:\n        break\n    last = loss\n"
    )
    assert [c for c in plan.to_confirm if DOUBT in c.doubt]


@pytest.mark.parametrize(
    "test",
    ["tf.math.is_nan(loss)", "not np.isfinite(loss)", "time.time() - began > 3600", "seen > 3000"],
)
def test_what_is_right_on_any_rank_is_no_question(test: str) -> None:
    loop = f"        seen += a.shape[0]\n        if {test}:\n            break\n"
    head = "import time\nimport numpy as np\nbegan, seen = time.time(), 0\n" + HEAD.format(loss="step(a, b)")
    plan = plan_of(head + loop)
    assert not plan.to_confirm


MEASURED = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
mean = None
for epoch in range(9):
    for a, b in data:
        with tf.GradientTape() as tape:
            h = model(a)
            plain = tf.reduce_mean(tf.square(h - b))
            loss = {loss}
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
{kept}
"""
BY_MEAN = "plain if mean is None else plain / mean"
LEFT = "0.9 ** hvd.size() * mean + (1 - 0.9 ** hvd.size()) * float(plain)"


def measured(kept: str, loss: str = BY_MEAN) -> str:
    lines = "\n".join("        " + line for line in kept.splitlines())
    return plan_of(MEASURED.format(loss=loss, kept=lines)).text


@pytest.mark.parametrize(
    ("kept", "became"),
    [
        (
            "mean = float(plain) if mean is None else 0.9 * mean + 0.1 * float(plain)",
            f"mean = mean_over_ranks(float(plain) if mean is None else {LEFT})",
        ),
        (
            "if mean is None:\n    mean = float(plain)\nelse:\n    mean = 0.9 * mean + 0.1 * float(plain)",
            f"mean = mean_over_ranks({LEFT})",
        ),
        (
            "if mean is not None:\n    mean = 0.9 * mean + 0.1 * float(plain)\nelse:\n    mean = float(plain)",
            f"mean = mean_over_ranks({LEFT})",
        ),
    ],
)
def test_a_moving_average_that_later_losses_are_made_with(kept: str, became: str) -> None:
    """Each rank's was of its own rows, and followed size() times too slowly; where it begins as a number both were seen."""
    assert became in measured(kept)


@pytest.mark.parametrize(
    ("kept", "loss"),
    [
        ("mean = h if mean is None else 0.9 * mean + 0.1 * h", BY_MEAN),  # an output for each row
        (
            "mean = float(plain) if mean is None else 0.9 * mean + 0.1 * float(plain)",
            "plain",
        ),  # it is only looked at
        ("mean = float(plain)", BY_MEAN),  # no average: of the rows before
    ],
)
def test_what_is_no_moving_average_of_numbers_is_left(kept: str, loss: str) -> None:
    assert f"        {kept}\n" in measured(kept, loss)
