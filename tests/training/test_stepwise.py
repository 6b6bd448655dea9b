"""Generated programs, each compared with one process step by step: weights, rates and events go by the rows that are seen."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize
from tests.stepwise import comparing, deciding, fits, programs, sessions
from tests.training.chosen import ALL

pytestmark = [pytest.mark.training, pytest.mark.timeout(1200)]
NUMBER = 45 if ALL else 25  # of 3,278, and of 384 sessions, for each number of ranks


@pytest.mark.parametrize("kind", [programs, sessions], ids=["tapes", "sessions"])
@pytest.mark.parametrize("size", [2, 4])
def test_each_step_is_given_what_one_process_is_given_around_it(
    size: int, kind: ModuleType, tmp_path: Path
) -> None:
    assert not _parted(kind.some(NUMBER, seed=size), size, tmp_path)


def test_callbacks_of_fit_give_each_step_what_one_process_gives_around_it(tmp_path: Path) -> None:
    assert not _parted(fits.some(NUMBER, seed=7), 2, tmp_path)


def _parted(chosen: list[programs.Program], size: int, tmp_path: Path) -> dict[str, list[str]]:
    plans = [
        distribute(summarize(Document.from_bytes(p.text.encode(), "program.py")), Options()) for p in chosen
    ]
    distributed = [
        (program, plan) for program, plan in zip(chosen, plans, strict=True) if isinstance(plan, Plan)
    ]
    assert len(distributed) == NUMBER
    alone = comparing.run([program.text for program, _ in distributed], 1, tmp_path)
    ranks = comparing.run([plan.text for _, plan in distributed], size, tmp_path)
    return {
        program.name: found
        for (program, plan), one, rank in zip(distributed, alone, ranks, strict=True)
        if (found := comparing.partings(one, rank, size)) and not any(c.doubt for c in plan.changes)
    }


def test_ranks_decide_alike_whatever_each_of_them_measures(tmp_path: Path) -> None:
    chosen = deciding.some(seed=1)
    plans = [
        distribute(summarize(Document.from_bytes(p.text.encode(), "program.py")), Options()) for p in chosen
    ]
    texts = [plan.text for plan in plans if isinstance(plan, Plan)]
    assert len(texts) == len(chosen)
    came = comparing.run_on_ranks(texts, 2, tmp_path)
    parted = {p.name: ranks for p, ranks in zip(chosen, came, strict=True) if not comparing.are_alike(ranks)}
    assert not parted
