"""Where a program on pretended ranks parts from one process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.training import running

ON_RANKS = Path(__file__).with_name("on_ranks.py")
PRETENDED = Path(__file__).with_name("pretended.py")
EXACT = 1e-4  # of weights, for both are computed alike
SHARE = 1e-3  # of rates, which are kept as 32-bit numbers
PATIENCE = 400  # seconds, after which ranks are taken to wait for others
LONGEST = 1000  # seconds
NOW_AND_THEN = 4  # steps that a rate stays at, in programs that set it so


def run(texts: Sequence[str], size: int, folder: Path) -> list[dict[str, Any]]:
    """What comes of programs as rank 0 of so many pretended ranks, in their order."""
    return run_pretended(PRETENDED, texts, size, folder)


def run_pretended(pretended: Path, texts: Sequence[str], size: int, folder: Path) -> list[Any]:
    """What comes of programs under a Horovod that pretends so many ranks, in their order."""
    programs, out, said = (folder / f"{pretended.stem}-{size}.{kind}" for kind in ("json", "out.json", "txt"))
    programs.write_text(json.dumps(texts), encoding="utf-8")
    status = running.run(pretended, [str(programs), str(size), str(out)], folder, said, limit=LONGEST)
    assert status == 0, said.read_text(encoding="utf-8")
    found: list[Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def run_on_ranks(
    texts: Sequence[str], size: int, folder: Path, world: running.World = running.KERAS_2
) -> list[list[Any]]:
    """What comes of programs on so many real ranks, in their order: of each rank what it took, how it failed, or None. They may
    import what is in the folder."""
    programs = folder / "deciding.json"
    programs.write_text(json.dumps(texts), encoding="utf-8")
    arguments = [str(programs), str(folder)]
    said = folder / "said.txt"
    running.run(ON_RANKS, arguments, folder, said, ranks=size, limit=PATIENCE, world=world)
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
