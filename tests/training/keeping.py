"""Whether a program keeps the contract: it is distributed by the tool, trained in one process and on ranks, and compared."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from horovodize.cli import main
from tests.training.cases import Case
from tests.training.contract import Fault, check_ranks, equivalent, same_alone
from tests.training.running import KERAS_2, Outcome, World, train
from tests.training.text_contract import rest_untouched, valid_and_stable


class Refused(Exception):
    """The tool did not distribute a program: its exit status and what it said."""


def distribute(source: Path, target: Path, *options: str) -> bytes:
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        status = main(["distribute", str(source), "--output", str(target), *options])
    if status or not target.exists():
        raise Refused(f"exit status {status}: {said.getvalue()}")
    return target.read_bytes()


def runs(case: Case, script: Path, folder: Path, world: World, ranks: int = 1) -> list[Outcome]:
    settings = {"ranks": ranks, "shared_order": case.shared_order, "tf1": case.tf1, "world": world}
    return [train(script, folder, **settings) for _ in range(case.runs)]


def faults_of(case: Case, folder: Path, world: World = KERAS_2) -> list[Fault]:
    before = case.path.read_bytes()
    # The same file name as the original's: scripts print it.
    script = folder / "distributed" / case.path.name
    script.parent.mkdir()
    options = (*world.options, *case.options)
    after = distribute(case.path, script, *options)

    def again(text: bytes) -> bytes:
        twice = folder / "twice" / case.path.name
        twice.parent.mkdir(exist_ok=True)
        return distribute(script, twice, *options)

    faults = valid_and_stable(after, again) + rest_untouched(before, after)
    original = runs(case, case.path, folder / "original", world)
    for one, other in zip(original, runs(case, script, folder / "alone", world), strict=True):
        faults += same_alone(one, other, case.expected)
    for size in case.ranks[: world.numbers]:
        together = runs(case, script, folder / f"ranks-{size}", world, size)
        for one, run in zip(original, together, strict=True):
            faults += [
                Fault(f.invariant, f"({size} ranks) {f.message}")
                for f in check_ranks(one, run, case.expected)
            ]
        if case.expected.work == "strong" and not case.expected.drawn:
            faults += faults_of_equivalence(case, script, folder, world, original[:1], together[0])
        elif size == case.ranks[0] and case.larger:
            references = [
                train(path, folder / path.stem, tf1=case.tf1, world=world) for path in written(case, folder)
            ]
            faults += faults_of_equivalence(case, script, folder, world, references, together[0])
    return faults


def faults_of_equivalence(
    case: Case, script: Path, folder: Path, world: World, references: list[Outcome], run: Outcome
) -> list[Fault]:
    """I10: the ranks end where one process with the larger batch ends; where rows are divided, where the original ended.

    run: ranks of different seeds. Those that rank 0's variables reach after the first step are a step late, and those that
    deal rows by an order of their own have others: they are trained once more, from one seed."""
    tolerance = case.larger.get("tolerance", 1e-4)
    if run.complete and (not equivalent(references, run, tolerance) or case.larger.get("own_seeds")):
        return equivalent(references, run, tolerance)
    settings = {"seed_per_rank": False, "tf1": case.tf1, "world": world}
    run = train(script, folder / f"equal-{run.size}", ranks=run.size, **settings)
    faults = equivalent(references, run, tolerance) if run.complete else [Fault("I10", run.why())]
    return [Fault(f.invariant, f"({run.size} ranks) {f.message}") for f in faults]


def written(case: Case, folder: Path) -> list[Path]:
    paths = []
    for number, text in enumerate(case.references()):
        paths.append(folder / f"larger-{number}.py")
        paths[-1].write_bytes(text)
    return paths
