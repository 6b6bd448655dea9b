"""Which rows ranks validate on, beside those that one process does."""

from __future__ import annotations

from typing import Any

import pytest

from horovodize.verifying.runs import Rank
from horovodize.verifying.validated import validates_on_the_same
from tests.verifying.made import rank, run

ROWS = range(40)


def validating(numbers: Any, times: int = 2, batch: int = 8, number: int = 0, size: int = 1) -> Rank:
    """A rank that validates on some rows `times` times."""
    made = rank(number, size)
    rows = {f"row {n}": times for n in numbers}
    examples = {
        **made.report["examples"],
        "validated": {"rows": rows, "batches": [batch] * max(1, len(rows) // batch)},
    }
    return Rank({**made.report, "examples": examples})


def said(alone: list[Rank], *ranks: Rank) -> list[tuple[str, ...]]:
    return [check.broken for check in validates_on_the_same([run(one) for one in alone], run(*ranks))]


def on_ranks(*shares: Any) -> list[Rank]:
    return [validating(share, number=n, size=len(shares)) for n, share in enumerate(shares)]


FEWER = "all ranks together validate on {} of the 40 rows that one process does"


@pytest.mark.parametrize(
    ("shares", "fewer"),
    [
        ((ROWS, ROWS), None),
        ((ROWS[::2], ROWS[1::2]), None),
        ((ROWS[:20], ROWS[20:]), None),
        ((ROWS, ()), None),  # rank 0 alone validates
        ((ROWS[:16:], ROWS[16:32]), None),  # what fills no batch on each
        ((ROWS[::4], ROWS[1::4]), 20),  # divided twice
        ((ROWS[:20], ROWS[:20]), 20),  # steps divided, rows not
        ((ROWS[:20], ()), 20),
    ],
)
def test_ranks_validate_on_all_rows(shares: tuple[Any, ...], fewer: int | None) -> None:
    broken = (FEWER.format(fewer),) if fewer else ()
    assert said([validating(ROWS)] * 2, *on_ranks(*shares)) == [broken]


def test_nothing_is_said_of_what_can_not_be_told() -> None:
    half = on_ranks(ROWS[:10], ROWS[:10])
    assert said([rank(), rank()], *half) == []  # one process doesn't validate
    assert (
        said([validating(ROWS)], rank(0, 2), rank(1, 2)) == []
    )  # ranks don't, as the script's own test may say
    assert said([validating(ROWS), validating(range(1, 41))], *half) == []  # drawn, by each seed others
    uneven = validating(ROWS)
    uneven.report["examples"]["validated"]["rows"]["row 3"] = 3
    assert said([uneven], *half) == []  # drawn with replacement, perhaps
    assert said([uneven, validating(ROWS)], *half) == []  # drawn
    assert said([uneven, uneven], *half) == [(FEWER.format(10),)]  # tested on some, too
    assert said([validating(ROWS)], *on_ranks(range(50, 60), range(60, 70))) == []  # others each time
    assert said([validating(ROWS)], validating(ROWS[:10])) == []  # on one rank
