"""Section 5 of the issue: programs of tests/programs (`chosen`) are distributed by the tool, trained in one process and on two
ranks (some on three), and keeps the contract I1 to I8 and I10.

Each test is one program: its runs are shared by all invariants, and a failure lists every fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.cases import Case, cases, read_table
from tests.training.chosen import ALL, FILE, TIMES, chosen, kinds_of_all, missing
from tests.training.keeping import faults_of
from tests.training.running import KERAS_2, World

pytestmark = [pytest.mark.training, pytest.mark.timeout(900)]


@pytest.mark.parametrize("case", chosen(cases(), KERAS_2), ids=lambda case: case.name)
def test_a_distributed_program_keeps_the_contract(case: Case, tmp_path: Path) -> None:
    faults = faults_of(case, tmp_path)
    assert not faults, "\n".join(map(str, faults))


def test_there_are_enough_programs_of_each_kind() -> None:
    kinds = [case.path.parent.name for case in cases()]
    assert kinds.count("keras") >= 10
    assert kinds.count("tape") >= 10
    assert kinds.count("session") >= 10
    assert kinds.count("monitored") >= 4
    assert kinds.count("estimator") >= 3
    assert sum(bool(case.larger) for case in cases()) >= 4
    assert sum(3 in case.ranks for case in cases()) >= 3


def test_those_that_are_chosen_are_there() -> None:
    assert set(read_table(FILE)["training"]) <= {case.name for case in cases()}


@pytest.mark.skipif(not ALL, reason="plans each program")
@pytest.mark.parametrize(("world", "times"), TIMES.items(), ids=lambda of: getattr(of, "part", of))
def test_those_that_are_chosen_are_enough(world: World, times: int) -> None:
    assert not missing(read_table(FILE)[world.part], kinds_of_all(world), times)
