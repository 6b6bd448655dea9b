"""How fast a run is, where its time goes, and what to change first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from horovodize.verifying.runs import Run


@dataclass(frozen=True)
class Speed:
    """Of a run beside the one alone. None where it couldn't be seen.

    unit           what is counted: "rows" or "steps"
    alone, ranks   so many a second, of all ranks together, from the second step on
    efficiency     of N ranks: 1 where they are N times as fast
    input          the part of the time that rank 0 waits for its next batch
    communication  the part in which a collective is under way or waited for, from Horovod's timeline
    change_first   the one thing to change"""

    unit: str = "steps"
    alone: float | None = None
    ranks: float | None = None
    efficiency: float | None = None
    input: float | None = None
    communication: float | None = None
    change_first: str = ""


def speed(alone: Run, run: Run) -> Speed:
    unit = "rows" if alone.rows and run.rows else "steps"
    one, many = (_a_second(which, unit) for which in (alone, run))
    efficiency = many / (one * run.size) if one and many else None
    seconds = run.ranks[0].training_seconds
    waited = run.ranks[0].report["input_seconds"]
    share = min(1.0, waited / seconds) if seconds and waited else None
    communication = (
        min(1.0, run.communication / seconds) if seconds and run.communication is not None else None
    )
    return Speed(
        unit,
        one,
        many,
        efficiency,
        share,
        communication,
        _change_first(run, efficiency, share, communication),
    )


def _a_second(run: Run, unit: str) -> float | None:
    seconds = run.ranks[0].training_seconds
    steps = max((len(curve.losses) for curve in run.ranks[0].curves), default=0)
    if not seconds or steps < 3:
        return None
    every = run.rows.total() if unit == "rows" else steps * run.size
    return every * (steps - 2) / steps / seconds


def _change_first(
    run: Run, efficiency: float | None, waiting: float | None, communication: float | None
) -> str:
    if efficiency is None or efficiency > 0.8 or run.size == 1:
        return ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2 * run.size:
        return f"more cores, or GPUs: {run.size} ranks share {cores} cores here, so these figures say little"
    if communication is not None and communication > max(0.4, waiting or 0):
        return "larger batches: a step is too short for what the ranks have to exchange after it"
    if waiting is not None and waiting > 0.3:
        return (
            "the input: add .prefetch(tf.data.AUTOTUNE), and divide files or records before they are decoded"
        )
    return "nothing stands out: look at Horovod's timeline"


def time_in_collectives(timeline: Path) -> float | None:
    """Seconds in which any tensor was being negotiated or exchanged. None without a timeline that can be read."""
    try:
        lines = timeline.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    spans = sorted(_spans(lines))
    total, until = 0.0, 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total / 1e6 if spans else None


def _spans(lines: list[str]) -> Iterator[tuple[float, float]]:
    """Beginnings and ends in microseconds. The file is an array that may lack its end: one event a line."""
    open_since: dict[object, list[float]] = {}
    for line in lines:
        try:
            event = json.loads(line.strip().rstrip(",").lstrip("["))
        except ValueError:
            continue
        if not isinstance(event, dict) or "ts" not in event:
            continue
        begun = open_since.setdefault(event.get("pid"), [])
        if event.get("ph") == "B":
            begun.append(float(event["ts"]))
        elif event.get("ph") == "E" and begun:
            start = begun.pop()
            if not begun:
                yield start, float(event["ts"])
