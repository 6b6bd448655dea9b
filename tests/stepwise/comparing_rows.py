"""Where the rows that pretended ranks take part from those of one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.stepwise.comparing import run_pretended
from tests.stepwise.loaders import Program

PRETENDED = Path(__file__).with_name("pretended_rows.py")
EPOCHS = 3
FEW = 6  # a sixth of the steps may take rows that another rank takes, too: those of different epochs


def run(texts: Sequence[str], size: int, folder: Path) -> list[list[dict[str, Any]]]:
    """What comes of programs on so many pretended ranks, in their order: of each rank."""
    return run_pretended(PRETENDED, texts, size, folder)


def partings(program: Program, alone: dict[str, Any], ranks: list[dict[str, Any]]) -> list[str]:
    """How ranks part from one process: by a failure, by unequal numbers of steps, by rows that several of them take in a step,
    that none takes or that are taken too often, or by rows that a rank prepares for others."""
    failed = [rank["failed"] for rank in ranks if "failed" in rank]
    if failed:
        return failed
    found, size = list[str](), len(ranks)
    taken = [rank["taken"] for rank in ranks]
    steps = [len(own) for own in taken]
    if len(set(steps)) > 1:
        found.append(f"unequal steps {steps}")
    left = EPOCHS * size * program.batch  # what may be left over of each epoch
    before = Counter(row for batch in alone["taken"] for row in batch)
    after = Counter(row for own in taken for batch in own for row in batch)
    other = sum(abs(before[row] - after[row]) for row in before | after)
    if other > left:
        found.append(f"{other} rows are taken more or less often than alone, of {before.total()}")
    shared = sum(
        any(set(a) & set(b) for i, a in enumerate(step) for b in step[:i])
        for step in zip(*taken, strict=False)
    )
    if shared > max(EPOCHS, min(steps) // FEW):
        found.append(f"several ranks take the same row in {shared} of {min(steps)} steps")
    most = max(rank["prepared"] for rank in ranks)
    if program.loader.divided and most > alone["prepared"] / size + left:
        found.append(f"a rank prepares {most} rows, one process alone {alone['prepared']}")
    return found
