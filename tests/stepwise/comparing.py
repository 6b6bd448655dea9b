"""Where a program on pretended ranks parts from one process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PRETENDED = Path(__file__).with_name("pretended.py")
EXACT = 1e-4  # of weights, for both are computed alike
SHARE = 1e-3  # of rates, which are kept as 32-bit numbers
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
