"""Where a program on pretended ranks parts from one process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ON_RANKS = Path(__file__).with_name("on_ranks.py")
PRETENDED = Path(__file__).with_name("pretended.py")
EXACT = 1e-4  # of weights, for both are computed alike
SHARE = 1e-3  # of rates, which are kept as 32-bit numbers
PATIENCE = 400  # seconds
NOW_AND_THEN = 4  # steps that a rate stays at, in programs that set it so


def run(tf_python: Path, texts: Sequence[str], size: int, folder: Path) -> list[dict[str, Any]]:
    """What comes of programs as rank 0 of so many pretended ranks, in their order."""
    programs = folder / f"programs-{size}.json"
    programs.write_text(json.dumps(texts), encoding="utf-8")
    done = subprocess.run(
        [tf_python, str(PRETENDED), str(programs), str(size)], capture_output=True, text=True, check=True
    )
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_on_ranks(tf_python: Path, texts: Sequence[str], size: int, folder: Path) -> list[list[Any]]:
    """What comes of programs on so many real ranks, in their order: of each rank what it took, how it failed, or None. They may
    import what is in the folder."""
    programs = folder / "deciding.json"
    programs.write_text(json.dumps(texts), encoding="utf-8")
    command = [tf_python.with_name("horovodrun"), "-np", str(size), tf_python, ON_RANKS, programs, folder]
    environment = {
        **os.environ,
        "PATH": f"{tf_python.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "OMP_NUM_THREADS": "1",
    }
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as running:
        try:
            running.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # one waits for the others
            running.terminate()  # which ends the ranks, too
    written = [[folder / f"{rank}-{n}.json" for rank in range(size)] for n in range(len(texts))]
    return [[json.loads(f.read_text()) if f.exists() else None for f in files] for files in written]


def are_alike(ranks: Sequence[Any]) -> bool:
    """Whether ranks took the same steps, in number, rates, weights and rows, and came to the same weights of the model."""
    first = ranks[0]
    return all(
        isinstance(rank, list)
        and len(rank) == len(first)
        and all(
            len(one) == len(other) and all(abs(a - b) <= SHARE for a, b in zip(one, other, strict=True))
            for one, other in zip(first, rank, strict=True)
        )
        for rank in ranks
    )


def partings(alone: dict[str, Any], rank: dict[str, Any], size: int) -> list[str]:
    """How a rank parts from one process: by a failure, the number of its steps, their weights or rates, or its events."""
    if "failed" in rank:
        return [rank["failed"]]
    found, steps = list[str](), len(alone["taken"])
    if abs(len(rank["taken"]) * size - steps) > size:
        found.append(f"{len(rank['taken'])} steps for {steps} alone")
    for i, what in enumerate(("weight", "rate")):
        grown = size if what == "rate" else 1
        for n, taken in enumerate(rank["taken"]):
            back = NOW_AND_THEN if what == "rate" else 0
            near = [one[i] for one in alone["taken"][max(0, (n - 1) * size - back) : (n + 2) * size]]
            value = taken[i] / grown
            if near and not min(near) * (1 - SHARE) - EXACT <= value <= max(near) * (1 + SHARE) + EXACT:
                found.append(f"{what} of step {n}: {value:.5f}, alone {min(near):.5f} to {max(near):.5f}")
                break
    if abs(len(rank["events"]) - len(alone["events"])) > 1:
        found.append(f"events after {rank['events']} steps, alone after {alone['events']}")
    for after in rank["events"]:
        if not any(abs(after * size - other) <= 2 * size + 2 for other in alone["events"]):
            found.append(f"event after {after} steps, alone after {alone['events']}")
            break
    return found
