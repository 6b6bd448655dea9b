"""Whether the ranks together validate on the rows that one process does."""

from __future__ import annotations

from collections.abc import Sequence

from horovodize.verifying.check import Check
from horovodize.verifying.runs import Run


def validates_on_the_same(alone: Sequence[Run], run: Run) -> list[Check]:
    """Nothing, where Keras doesn't validate, or on rows that are drawn, or others each time: those are no fewer on ranks."""
    name = "it validates on all rows"
    had = alone[0].ranks[0].validated
    has = [rank.validated for rank in run.ranks]
    rows, seen = set(had.rows), {row for rank in has for row in rank.rows}
    if run.size == 1 or run.stopped or not rows or not seen or not seen <= rows:
        return []
    # Each seed the same rows, as often: none is drawn.
    if any(one.ranks[0].validated.rows != had.rows for one in alone) or not (len(alone) > 1 or had.is_even):
        return []
    # Shares of equally many rows, or of batches: the rest is left out.
    left = max(run.size - 1, len(rows) % (run.size * max(had.batches)))
    missing = len(rows) - len(seen)
    if missing <= left:
        return [Check(name)]
    return [
        Check(
            name,
            (
                f"all ranks together validate on {len(seen):,} of the {len(rows):,} rows that one process does",
            ),
        )
    ]
