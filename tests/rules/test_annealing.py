"""G5: what a step is given that is computed from how many steps were taken."""

from __future__ import annotations

import pytest

from .pairs import TF, changes, plan_of

HEAD = (
    TF
    + """
import math
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
def train_step(x, y, beta=1.0):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y) * beta
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
count = 0
for epoch in range(9):
    for i, (x, y) in enumerate(ds):
        beta = {value}
        train_step(x, y, {given})
        count += 1
"""
)
ALL = "count * hvd.size()"


def line_of(value: str, given: str = "beta") -> tuple[str, str]:
    """What becomes of the value, and of what the step is given."""
    lines = [line.strip() for line in plan_of(HEAD.format(value=value, given=given)).text.splitlines()]
    made = next(line for line in lines if line.startswith("beta = "))
    call = next(line for line in lines if line.startswith("train_step(x"))
    return made.removeprefix("beta = "), call.removeprefix("train_step(x, y, ").removesuffix(")")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("min(1.0, count / 1000)", f"min(1.0, {ALL} / 1000)"),
        ("tf.constant(count / 1000)", f"tf.constant({ALL} / 1000)"),
        ("0.99 ** count", f"0.99 ** ({ALL})"),
        ("1 - math.exp(-count / 500)", f"1 - math.exp(-({ALL}) / 500)"),
        ("int(opt.iterations) / 1000", "int(opt.iterations) * hvd.size() / 1000"),
    ],
)
def test_a_formula_is_told_the_steps_of_all_ranks(value: str, told: str) -> None:
    assert line_of(value)[0] == told


def test_a_formula_where_it_is_given() -> None:
    assert line_of("0", "count / 1000")[1] == f"{ALL} / 1000"
    assert line_of("0", "beta=count / 1000")[1] == f"beta={ALL} / 1000"


@pytest.mark.parametrize(
    "value",
    [
        "epoch / 9",  # epochs are as many as before
        "rows[count]",
        "rows[count // 2]",
        "weights[count / 2 > 5]",
        "count",
        "count / len(ds)",  # measured by a rank's own
        "other / 1000",
        "min(1.0, 1000)",
    ],
)
def test_what_goes_by_no_step_is_left(value: str) -> None:
    assert line_of(value)[0] == value


def test_what_no_step_is_given_is_left() -> None:
    plan = plan_of(HEAD.format(value="count / 1000", given="1.0"))
    assert "beta = count / 1000\n" in plan.text
    assert not any("the formula" in c.what for c in changes(plan, "G5"))


def test_what_is_divided_by_a_ranks_steps_is_left() -> None:
    """The number of steps is divided there already, as the average's."""
    head = HEAD[: HEAD.index("count = 0")]
    loop = "n = 1000\nmean = 0.0\nfor k in range(n):\n    mean += train_step(draw(), 1, k / n) / n\n"
    text = plan_of(head + loop).text
    assert "train_step(draw(), 1, k / max(1, n // hvd.size())) / max(1, n // hvd.size())" in text
