"""What trials call alike, and what they don't."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from tests.trials.digest import Rank, Run
from tests.trials.judging import judge, scaling
from tests.trials.listed import Listed

ALONE = Rank(
    steps=[120],
    first_rates=[0.1],
    last_rates=[0.1],
    first=[2.0],
    last=[0.1],
    weights=[[1.0, 2.0]],
    rows=1200,
    different=400,
    which="all",
    times={"saved": 4},
    printed=12,
)


def run(size: int = 2, **changes: object) -> Run:
    """`size` ranks, each as ALONE but for the changes, with rows of its own."""
    quiet = {"printed": 0, "times": {}}
    ranks = [replace(ALONE, **{"which": str(n), **changes, **(quiet if n else {})}) for n in range(size)]  # type: ignore[arg-type]
    return Run(size, ranks, 1.0)


ALL_ALONE = [run(1)]
WEAK = {"steps": [60], "first_rates": [0.2], "last_rates": [0.2], "rows": 600}


def test_a_weak_run_may_end_with_other_weights() -> None:
    distributed = run(**WEAK, weights=[[3.0, 1.0]])
    assert scaling(ALL_ALONE[0], distributed) == "weak"
    assert not judge(ALL_ALONE, [distributed])


def test_a_strong_run_ends_with_the_same_weights() -> None:
    assert not judge(ALL_ALONE, [run(rows=600)])
    (fault,) = judge(ALL_ALONE, [run(rows=600, weights=[[3.0, 1.0]])])
    assert "weights" in fault


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({**WEAK, "last": [1.9]}, "the loss ends at 1.9"),
        ({**WEAK, "last": [nan]}, "the loss ends at nan"),
        ({**WEAK, "first_rates": [0.1], "last_rates": [0.1]}, "rate × 1"),
        ({**WEAK, "times": {"saved": 1}}, "saved is written 1 times, not 4"),
        ({**WEAK, "times": {}}, "saved is written 0 times, not 4"),
        ({**WEAK, "printed": 3}, "rank 0 prints 3 lines, alone 12"),
        ({**WEAK, "rows": 1200}, "2 × the rows"),
    ],
)
def test_what_differs_is_said(changes: dict[str, object], said: str) -> None:
    assert any(said in fault for fault in judge(ALL_ALONE, [run(**changes)]))


def test_all_rows_in_each_step_are_no_batches() -> None:
    alone = [run(1, rows=120 * 400)]
    faults = judge(alone, [run(**{**WEAK, "rows": 60 * 400}, which="all")])
    assert any("as if they were batches" in fault for fault in faults)


def test_ranks_that_end_apart() -> None:
    distributed = run(**WEAK)
    distributed.ranks[1].weights = [[5.0, 5.0]]
    assert any("other weights than rank 0" in fault for fault in judge(ALL_ALONE, [distributed]))


def test_a_run_that_has_not_come_to_its_end() -> None:
    stalled = Run(2, [], 100.0, "stalls", "one rank waits for another")
    assert judge(ALL_ALONE, [stalled]) == ["2 ranks: stalls (one rank waits for another)"]


def test_what_is_cut_short_in_a_script() -> None:
    listed = Listed("owner/name", "c0ffee", "train.py", epochs=3, steps=20)
    assert listed._fitted("EPOCHS = 500\n") == "EPOCHS = 3\n"
    assert listed._fitted("for epoch in range(500):\n") == "for epoch in range(3):\n"
    assert listed._fitted("for step in range(1, 500 + 1):\n") == "for step in range(1, 20 + 1):\n"
    assert listed._fitted("epochs = 2\nfor i in range(5):\n") == "epochs = 2\nfor i in range(5):\n"
