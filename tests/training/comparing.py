"""How what two runs did is compared: numbers within a tolerance, lines that were printed, names of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isclose, isnan
from typing import Any

from tests.training.running import Report

_OF_RANK_0 = "signal_early_stopping/"  # rank 0's hook notes there that it ends the training; no step reads it


def differences(one: Report, other: Report, part: str, tolerance: float) -> list[str]:
    """Where two snapshots' variables of one part (trained, others, optimizer) differ; the first is enough."""
    mine, its = (
        [v for v in snapshot[part] if not v["name"].startswith(_OF_RANK_0)] for snapshot in (one, other)
    )
    if len(mine) != len(its):
        return [f"{part} holds {len(its)} variables, not {len(mine)}"]
    found = []
    for a, b in zip(mine, its, strict=True):
        if a["shape"] != b["shape"]:
            found.append(f"{part} {a['name']} has shape {b['shape']}, not {a['shape']}")
        elif not close(a["values"], b["values"], tolerance):
            apart = max(abs(x - y) for x, y in zip(a["values"], b["values"], strict=True))
            found.append(f"{part} {a['name']} differs by {apart:.3g}")
    return found[:1]  # the first tells enough


def all_numbers(snapshot: Report) -> bool:
    """Whether no variable of a snapshot holds what is not a number."""
    return not any(isnan(value) for part in snapshot.values() for one in part for value in one["values"])


def close(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two nests of numbers are the same within a relative tolerance (absolute below 1)."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(close(one[k], other[k], tolerance) for k in one)
        )
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(close(a, b, tolerance) for a, b in zip(one, other, strict=True))
        )
    return isclose(one, other, rel_tol=tolerance, abs_tol=tolerance) or (isnan(one) and isnan(other))


def distinct(values: Iterable[float]) -> list[float]:
    """The values without repetitions of the one before."""
    found: list[float] = []
    for value in values:
        if not found or not isclose(found[-1], value, rel_tol=1e-6):
            found.append(value)
    return found


_PROGRESS = re.compile(r"\d+/(\d+|Unknown) (\[|-)|\d+[mu]?s/(step|epoch|sample)")


def lines(text: str, unstable: Sequence[str]) -> list[str]:
    """What was printed, without progress bars and what differs from run to run."""
    stripped = (line.strip() for line in re.split(r"[\r\n\b]+", text))
    return [
        line
        for line in stripped
        if line and not _PROGRESS.search(line) and not any(re.search(p, line) for p in unstable)
    ]


def stable(losses: Any, unstable: Sequence[str]) -> Any:
    """Histories without the metrics that differ from run to run."""
    return [
        {name: values for name, values in one.items() if not any(re.search(p, name) for p in unstable)}
        if isinstance(one, dict)
        else one
        for one in losses
    ]


_NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")


def reads_alike(one: str, other: str) -> bool:
    """Whether two lines say the same, numbers within what a float32 tells apart (averaging over ranks yields those)."""
    numbers = [[float(number) for number in _NUMBER.findall(line)] for line in (one, other)]
    return _NUMBER.sub("#", one) == _NUMBER.sub("#", other) and close(*numbers, 1e-5)


def kinds(paths: Iterable[str]) -> set[str]:
    """Paths without their numbers: time stamps, process ids, epochs and steps."""
    return {
        re.sub(r"\d+(\.\d+)?", "#", re.sub(r"(events\.out\.tfevents)\..*", r"\1", path)) for path in paths
    }


def short(value: Any) -> str:
    """A value as text, cut off where it gets long."""
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:160]}…"
