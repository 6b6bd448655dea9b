"""Rates that go by an average of what a rank has added up: its divisor is the rank's number of steps, and stays."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

LOOP = """\
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
for epoch in range(9):
    total, n = 0.0, 0
    for x, y in ds:
        total += float(step(x, y))
        n += 1
{after}
"""


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ("    opt.learning_rate.assign(0.1 * min(1.0, total / n))", "total / n"),
        (
            "    rate = 0.1 if total / n > 0.1 else 0.01\n    opt.learning_rate.assign(rate)",
            "total / n > 0.1",
        ),
        ("    total /= n\n    opt.learning_rate.assign(0.1 * min(1.0, total))", "total /= n\n"),
        ("    total /= n + 1\n    opt.learning_rate.assign(0.1 * total)", "total /= n + 1\n"),
    ],
)
def test_a_rank_divides_by_its_own_steps(after: str, kept: str) -> None:
    """By those of all ranks, the average would be size() times too small."""
    text = plan_of(TAPE + LOOP.format(after=after)).text
    assert kept in text
    assert "n * hvd.size()" not in text


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        ("1.0 / n", "1.0 / (n * hvd.size())"),
        ("c / (c + n)", "c / (c + n * hvd.size())"),
        ("0.1 * n / 500", "0.1 * (n * hvd.size()) / 500"),
    ],
)
def test_a_formula_of_the_count_alone_is_told_that_of_all(rate: str, told: str) -> None:
    text = plan_of(
        TAPE
        + "c = 100\n"
        + LOOP.format(after="").replace("n += 1", f"n += 1\n        opt.learning_rate.assign({rate})")
    )
    assert f"opt.learning_rate.assign({told} * hvd.size())" in text.text


def test_what_is_divided_again_is_no_sum_of_a_rank() -> None:
    after = "    share = 0.5\n    share /= n\n    opt.learning_rate.assign(0.1 * share)"
    assert "share /= n * hvd.size()" in plan_of(TAPE + LOOP.format(after=after)).text
