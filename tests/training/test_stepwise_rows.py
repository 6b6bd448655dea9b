"""Generated programs with loaders of their own: ranks take each row of an epoch once, as many steps, and prepare no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize
from tests.stepwise import comparing_rows, loaders

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]
NUMBER = 2 * len(loaders.LOADERS)  # of 294, for each number of ranks


@pytest.mark.parametrize("size", [2, 3])
def test_the_rows_of_an_epoch_are_divided_among_the_ranks(size: int, tmp_path: Path) -> None:
    chosen = loaders.some(NUMBER, seed=size)
    plans = [
        distribute(summarize(Document.from_bytes(p.text.encode(), "program.py")), Options()) for p in chosen
    ]
    distributed = [(p, plan) for p, plan in zip(chosen, plans, strict=True) if isinstance(plan, Plan)]
    assert len(distributed) == NUMBER
    alone = comparing_rows.run([program.text for program, _ in distributed], 1, tmp_path)
    ranks = comparing_rows.run([plan.text for _, plan in distributed], size, tmp_path)
    parted = {
        program.name: found
        for (program, plan), one, own in zip(distributed, alone, ranks, strict=True)
        if (found := comparing_rows.partings(program, one[0], own)) and not any(c.doubt for c in plan.changes)
    }
    assert not parted
