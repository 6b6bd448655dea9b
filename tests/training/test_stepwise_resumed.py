"""Generated programs that are stopped, and go on with another number of ranks, of which only rank 0 has the files: at the same
row, with the rate of one process there."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize
from tests.stepwise import comparing_resumed, resuming

pytestmark = [pytest.mark.training, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("sizes", [(1, 2), (3, 2)], ids=["1 then 2", "3 then 2"])
def test_a_run_goes_on_at_the_same_row_with_other_ranks(sizes: tuple[int, int], tmp_path: Path) -> None:
    chosen = resuming.some(seed=sum(sizes))
    plans = [
        distribute(summarize(Document.from_bytes(p.text.encode(), "program.py")), Options()) for p in chosen
    ]
    distributed = [plan for plan in plans if isinstance(plan, Plan)]
    assert len(distributed) == len(chosen)
    assert not any(plan.notes or plan.to_confirm for plan in distributed)
    stop = resuming.STOPPED
    alone = comparing_resumed.run_twice([p.text for p in chosen], (1, 1), stop, tmp_path / "alone")
    ranks = comparing_resumed.run_twice([p.text for p in distributed], sizes, stop, tmp_path / "ranks")
    parted = {
        f"{program.name}, run {n}": found
        for program, one, own in zip(chosen, alone, ranks, strict=True)
        for n in (0, 1)
        if (found := comparing_resumed.partings(one[n], own[n], resuming.BATCH))
    }
    assert not parted
