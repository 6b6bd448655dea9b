"""G4: averages over the steps of a loop over a dataset that is divided."""

from __future__ import annotations

import pytest

from ..dividing import TAPE, check, divide

SLICES = "tf.data.Dataset.from_tensor_slices((a, b))"
LOOP = """\
{}ds = {}.shuffle(9).batch(8)
for epoch in range(3):
    total = 0.0
    for i, (x, y) in enumerate(ds):
        total += step(x, y)
    print(total / {})
"""


def both(made: str, divisor: str, divided: str) -> None:
    """Asserts that a divisor becomes another, in a program that binds something first."""
    check(TAPE, LOOP.format(made, SLICES, divisor), LOOP.format(made, f"shard_dataset({SLICES})", divided))


@pytest.mark.parametrize(
    ("made", "divisor"),
    [
        ("", "(i + 1)"),  # counted by the rank
        ("", "8"),  # a batch
        ("n = len(c)\n", "n"),  # other rows
        ("", "len(ds)"),  # of what is divided already
        ("", "a.shape[1]"),
    ],
)
def test_what_is_no_number_of_steps_is_left(made: str, divisor: str) -> None:
    both(made, divisor, divisor)


def test_what_a_loop_counts_is_a_rank_s_own() -> None:
    counted = LOOP.replace("total = 0.0", "total, n = 0.0, 0").replace(
        "step(x, y)", "step(x, y)\n        n += 1"
    )
    check(TAPE, counted.format("", SLICES, "n"), counted.format("", f"shard_dataset({SLICES})", "n"))


@pytest.mark.parametrize(
    ("made", "divisor"),
    [
        ("", "len(a)"),
        ("", "b.shape[0]"),
        ("n = len(a)\n", "n"),
        ("n = len(a) // 8\n", "n"),
        ("rows = a.shape[0]\nn = int(rows / 8)\n", "n"),
    ],
)
def test_what_counts_all_is_divided(made: str, divisor: str) -> None:
    both(made, divisor, f"max(1, {divisor} // hvd.size())")


def test_the_length_of_what_is_divided_later_counts_all() -> None:
    text = divide(
        TAPE + LOOP.format("", SLICES, "len(ds)").replace("for epoch", "model.evaluate(ds)\nfor epoch")
    ).text
    assert "enumerate(ds.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(ds) // hvd.size())))" in text
    assert "total / max(1, len(ds) // hvd.size())" in text
