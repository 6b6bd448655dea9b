"""Where programs part from one process that are stopped, and go on with other ranks, of which rank 0 has the files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.training import running

RUN_AGAIN = Path(__file__).with_name("run_again.py")
PATIENCE = 400  # seconds, after which ranks are taken to wait for others
SHARE = 1e-3  # of rates and weights, which are 32-bit numbers
Run = list[Any]  # of each rank what it took, how it failed, or None


def run_twice(texts: Sequence[str], sizes: tuple[int, int], stop: int, folder: Path) -> list[tuple[Run, Run]]:
    """What comes of programs, in their order: on the first number of ranks until so many rows, then on the second."""
    files = folder / "files"
    found = list[list[Run]]()
    for turn, size in enumerate(sizes):
        out = folder / f"out-{turn}"
        out.mkdir(parents=True)
        programs = out / "programs.json"
        programs.write_text(json.dumps(texts), encoding="utf-8")
        arguments = [str(programs), str(files), str(out), str(0 if turn else stop)]
        ranks = size if max(sizes) > 1 else None
        running.run(RUN_AGAIN, arguments, folder, out / "said.txt", ranks=ranks, limit=PATIENCE)
        written = [[out / f"{rank}-{n}.json" for rank in range(size)] for n in range(len(texts))]
        found.append(
            [[json.loads(f.read_text()) if f.exists() else None for f in ranks] for ranks in written]
        )
        for other in files.glob("*/[1-9]*"):
            shutil.rmtree(other)
    return list(zip(*found, strict=True))


def partings(alone: Run, ranks: Run, batch: int) -> list[str]:
    """How a run parts from that of one process: by a failure, by how many rows are taken or by whom, by rates, by weights that
    are not the same on all ranks."""
    failed = [came for came in ranks if not isinstance(came, dict)]
    if failed:
        return [f"failed: {failed}"]
    size, found = len(ranks), list[str]()
    taken = [came["taken"] for came in ranks]
    if len({len(own) for own in taken}) > 1:
        found.append(f"unequal steps {[len(own) for own in taken]}")
    expected = sum(len(rows) for rows, _ in alone[0]["taken"])
    rows = sum(len(rows) for own in taken for rows, _ in own)
    if abs(rows - expected) > (size + 1) * batch:
        found.append(f"{rows} rows, alone {expected}")
    if any(set(a[0]) & set(b[0]) for own in taken[1:] for a, b in zip(taken[0], own, strict=False)):
        found.append("two ranks take the same row in one step")
    found += _rates_that_part(alone[0]["taken"], taken, batch)
    weights = [came["weights"] for came in ranks if came["weights"] is not None]
    if any(abs(a - b) > SHARE for own in weights for a, b in zip(own, weights[0], strict=True)):
        found.append(f"weights {weights}")
    return found


def _rates_that_part(alone: list[Any], taken: list[list[Any]], batch: int) -> list[str]:
    """The first step whose rate, over the number of ranks, isn't one that a process has about there."""
    size = len(taken)
    ends = [*accumulate(len(rows) for rows, _ in alone)]
    around = (size + 2) * batch
    for own in taken:
        seen = 0
        for step, (rows, rate) in enumerate(own):
            near = [
                r for end, (_, r) in zip(ends, alone, strict=True) if seen - around <= end <= seen + around
            ]
            seen += len(rows) * size
            if near and not min(near) * (1 - SHARE) <= rate / size <= max(near) * (1 + SHARE):
                return [f"rate of step {step}: {rate / size:.5f}, alone {min(near):.5f} to {max(near):.5f}"]
    return []
