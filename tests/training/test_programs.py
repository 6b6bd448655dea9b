"""Section 5 of the issue: every program of tests/programs is distributed by the tool, trained in one process and on two
ranks (some on three), and keeps the contract I1 to I8 and I10.

Each test is one program: its runs are shared by all invariants, and a failure lists every fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.cases import Case, cases
from tests.training.contract import Fault, check_ranks, equivalent, same_alone
from tests.training.running import Outcome, train
from tests.training.text_contract import rest_untouched, valid_and_stable

pytestmark = [pytest.mark.training, pytest.mark.timeout(900)]


class Refused(Exception):
    """The tool did not distribute a program: its exit status and what it said."""


def distribute(source: Path, target: Path, *options: str) -> bytes:
    command = [
        sys.executable,
        "-m",
        "horovodize",
        "distribute",
        str(source),
        "--output",
        str(target),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode or not target.exists():
        raise Refused(f"exit status {done.returncode}: {done.stderr or done.stdout}")
    return target.read_bytes()


def runs(case: Case, script: Path, folder: Path, ranks: int = 1) -> list[Outcome]:
    settings = {"ranks": ranks, "shared_order": case.shared_order, "tf1": case.tf1}
    return [train(script, folder, **settings) for _ in range(case.runs)]


def faults_of(case: Case, folder: Path) -> list[Fault]:
    before = case.path.read_bytes()
    # The same file name as the original's: scripts print it.
    script = folder / "distributed" / case.path.name
    script.parent.mkdir()
    after = distribute(case.path, script, *case.options)

    def again(text: bytes) -> bytes:
        twice = folder / "twice" / case.path.name
        twice.parent.mkdir(exist_ok=True)
        return distribute(script, twice, *case.options)

    faults = valid_and_stable(after, again) + rest_untouched(before, after)
    original = runs(case, case.path, folder / "original")
    for one, other in zip(original, runs(case, script, folder / "alone"), strict=True):
        faults += same_alone(one, other, case.expected)
    for size in case.ranks:
        together = runs(case, script, folder / f"ranks-{size}", size)
        for one, run in zip(original, together, strict=True):
            faults += [
                Fault(f.invariant, f"({size} ranks) {f.message}")
                for f in check_ranks(one, run, case.expected)
            ]
        if case.expected.work == "strong" and not case.expected.drawn:
            faults += faults_of_strong_scaling(case, script, folder, original[0], size)
        elif size == case.ranks[0] and case.larger:
            faults += faults_of_equivalence(case, script, folder)
    return faults


def faults_of_equivalence(case: Case, script: Path, folder: Path) -> list[Fault]:
    """I10. The ranks start from one seed here: what is broadcast after the first step is one step late otherwise."""
    references = [train(path, folder / path.stem, tf1=case.tf1) for path in written(case, folder)]
    run = train(script, folder / "equivalent", ranks=case.ranks[0], seed_per_rank=False, tf1=case.tf1)
    if not run.complete:
        return [Fault("I10", run.why())]
    return equivalent(references, run, case.larger.get("tolerance", 1e-4))


def faults_of_strong_scaling(
    case: Case, script: Path, folder: Path, original: Outcome, size: int
) -> list[Fault]:
    """I10 of rows that are divided: the ranks end where the original ended. They start from one seed here, as above."""
    run = train(script, folder / f"equal-{size}", ranks=size, seed_per_rank=False, tf1=case.tf1)
    if not run.complete:
        return [Fault("I10", f"({size} ranks) {run.why()}")]
    return [Fault(f.invariant, f"({size} ranks) {f.message}") for f in equivalent([original], run, 1e-4)]


def written(case: Case, folder: Path) -> list[Path]:
    paths = []
    for number, text in enumerate(case.references()):
        paths.append(folder / f"larger-{number}.py")
        paths[-1].write_bytes(text)
    return paths


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
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
