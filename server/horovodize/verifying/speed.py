"""How fast a run is, where its time goes, and what to change first."""

from __future__ import annotations

import os
import re
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


def time_in_collectives(timeline: Path, begin: float, end: float) -> float | None:
    """Seconds between two times (since 1970) in which any tensor was being negotiated or exchanged, from Horovod's timeline.
    None without one that can be read."""
    try:
        text = timeline.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    started = re.search(r'"start_time_since_epoch_in_micros":\s*(\d+)', text)
    if started is None:
        return None
    base = int(started[1]) / 1e6
    spans = sorted((base + start / 1e6, base + stop / 1e6) for start, stop in _spans(text))
    total, until = 0.0, begin
    for start, stop in spans:
        total += max(0.0, min(stop, end) - max(start, until))
        until = max(until, min(stop, end))
    return total if spans else None


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Beginnings and ends in microseconds. The file is an array of events that may lack its end."""
    begun: dict[str, list[int]] = {}
    for event in re.finditer(r'\{"ph": "([BE])",[^{}]*?"ts": (\d+), "pid": (\d+)', text):
        kind, at, tensor = event[1], int(event[2]), event[3]
        if kind == "B":
            begun.setdefault(tensor, []).append(at)
        elif begun.get(tensor):
            start = begun[tensor].pop()
            if not begun[tensor]:
                yield start, at
