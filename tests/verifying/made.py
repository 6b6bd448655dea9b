"""Runs as the probe would have told them, made up: what a test is about is all it has to say."""

from __future__ import annotations

from typing import Any

from horovodize.verifying.runs import Rank, Run


def variables(*values: float) -> list[dict[str, Any]]:
    return [{"name": "kernel:0", "shape": [len(values)], "values": list(values)}]


def snapshot(*values: float) -> dict[str, Any]:
    return {"trained": variables(*values), "others": [], "optimizer": []}


def rank(
    number: int = 0,
    size: int = 1,
    *,
    steps: int = 20,
    rates: list[float] | None = None,
    losses: list[float] | None = None,
    rows: dict[str, int] | None = None,
    batch: int = 4,
    marks: list[str] | None = None,
    weights: tuple[float, ...] = (1.0, 2.0),
    early: tuple[float, ...] = (1.0, 2.0),
    log: list[tuple[str, str]] | None = None,
    files: dict[str, int] | None = None,
    **more: Any,
) -> Rank:
    """One rank. `rates` by step; `rows` and how often each was seen; `files` and how often each was written;
    `marks` of the batches."""
    rates = rates or [0.1] * steps
    losses = losses or [1.0 / (1 + step) for step in range(steps)]
    rows = rows if rows is not None else {f"row {n}": 1 for n in range(batch * steps)}
    marks = marks or [f"batch {size * step + number}" for step in range(steps)]
    examples = {"rows": rows, "batches": [batch] * steps, "marks": marks, "parts": more.pop("parts", [])}
    fresh = [max(0, min(batch, len(rows) - batch * step)) for step in range(steps)]
    trace = [{"iteration": i, "rate": r, "broadcasts": 1, "averages": i} for i, r in enumerate(rates)]
    optimizer = {
        "class": "SGD",
        "steps": steps,
        "first_rate": rates[0],
        "trace": trace,
        "early": [snapshot(*early)] * 3,
        "later": [],
        "at_end": snapshot(*weights),
    }
    files = files or {}
    report = {
        "rank": number,
        "size": size,
        "error": "",
        "stopped": False,
        "printed": 0,
        "clock": 0.0,
        "optimizers": [optimizer],
        "examples": {
            "keras": {**examples, "fresh": fresh},
            "datasets": [],
        },
        "input_seconds": 0.0,
        "objectives": [losses],
        "times": [[0.01 * step for step in range(len(losses))]],
        "collectives": log if log is not None else [("broadcast", "a"), ("allreduce", "b")] * (size > 1),
        "sums": 0,
        "files": {"files": sorted(files), "prefixes": [], "log_dirs": [], "times": files, "outside": []},
        "kept": [],
        "decided": [],
        "draws": False,
        "drew": False,
        "layers": [],
        "unseen": [],
        "limited": [],
    }
    return Rank({**report, **more})


def run(*ranks: Rank, status: int = 0, **more: Any) -> Run:
    return Run(max(1, len(ranks)), list(ranks), status, 1.0, "", **more)


def alone(**more: Any) -> list[Run]:
    """Three seeds."""
    return [run(rank(**more)) for _ in range(3)]


def two(*, second: dict[str, Any] | None = None, **more: Any) -> Run:
    """Two ranks that scale weakly: half of the steps, twice the rate, every other row."""
    given: dict[str, Any] = {"steps": 10, "rates": [0.2] * 10, **more}
    parts = [{f"row {n}": 1 for n in range(80) if n % 2 == side} for side in (0, 1)]
    made = [{"rows": parts[side], **given} for side in (0, 1)]
    return run(rank(0, 2, **made[0]), rank(1, 2, **{**made[1], **(second or {})}))
