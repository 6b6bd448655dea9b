"""What one run came to, in few numbers: kept on disk, since a run takes long and a report of the probe is large."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from math import nan
from typing import Any

from tests.training.comparing import kinds, lines
from tests.training.running import Outcome, Report

SAMPLE = 1000  # weights kept of each optimizer
TAIL = 0.1  # the part of the steps whose losses are the final loss


@dataclass
class Rank:
    """One process. Lists have an entry an optimizer (or set of variables, for losses) in order of their first steps.

    first, last  losses: means over the first and last tenth of the steps
    fits         the last values of what each `fit` returned
    rows         examples seen at the place where most were seen, `different` ones among them, and a digest of which
    times        how often each kind of file was written"""

    steps: list[int] = field(default_factory=list)
    first_rates: list[float] = field(default_factory=list)
    last_rates: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    fits: list[dict[str, float]] = field(default_factory=list)
    weights: list[list[float]] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    rows: int = 0
    different: int = 0
    which: str = ""
    times: dict[str, int] = field(default_factory=dict)
    printed: int = 0


@dataclass
class Run:
    """A run on `size` ranks. `fault` is empty, or "crashed"/"stalls" with where and why in `where`."""

    size: int
    ranks: list[Rank]
    seconds: float
    fault: str = ""
    where: str = ""


def digest(outcome: Outcome, script: str) -> Run:
    fault, where = _fault(outcome, script)
    return Run(outcome.size, [_rank(r) for r in outcome.reports], round(outcome.seconds, 1), fault, where)


def _fault(outcome: Outcome, script: str) -> tuple[str, str]:
    errors = [r["error"] for r in outcome.reports if r["error"]]
    real = [e for e in errors if "HorovodInternalError" not in e and "shut down" not in e]
    if real:
        return "crashed", _where(real[0], script)
    if outcome.complete:
        return "", ""
    waiting = re.findall(r"\[(\S+)\] \[ready ranks: ?\S*\]|Stalled ranks:\s*(.*)", outcome.output)
    if "tall" in outcome.output and waiting:
        return "stalls", "one rank waits for another"
    if outcome.status == 124 or "Timeout (" in outcome.output:
        return "stalls", "not at its end in time" + _standing(outcome.output, script)
    if errors:
        return "crashed", _where(errors[0], script)
    tail = [line for line in outcome.output.strip().splitlines() if line.strip()][-1:]
    return "crashed", f"exit status {outcome.status}: {tail[0][:160] if tail else ''}"


def _standing(output: str, script: str) -> str:
    found = re.findall(rf'{re.escape(script)}", line (\d+)', output)
    return f", line {found[-1]}" if found else ""


def _where(error: str, script: str) -> str:
    found = re.findall(rf'{re.escape(script)}", line (\d+)', error)
    said = [
        line
        for line in error.strip().splitlines()
        if re.match(r"\w[\w.]*(Error|Exception|Exit|Interrupt)\b", line)
    ]
    what = said[-1] if said else error.strip().splitlines()[-1]
    return f"line {found[-1] if found else '?'}: {what[:200]}"


def _rank(report: Report) -> Rank:
    optimizers = report["optimizers"]
    traces = [[point["rate"] for point in o["trace"]] for o in optimizers]
    seen = max(
        [report["examples"]["keras"], report["examples"]["sessions"], *report["examples"]["datasets"]],
        key=lambda one: len(one["batches"]),
    )
    return Rank(
        steps=[o["steps"] for o in optimizers],
        first_rates=[o["first_rate"] for o in optimizers],
        last_rates=[trace[-1] if trace else nan for trace in traces],
        first=[_mean(losses[: _tenth(losses)]) for losses in report["objectives"]],
        last=[_mean(losses[-_tenth(losses) :]) for losses in report["objectives"]],
        fits=[{k: v[-1] for k, v in fit.items() if v} for fit in report["losses"]["fits"]],
        weights=[_sample(o["at_end"]["trained"]) for o in optimizers],
        kept=_sample(report["kept"]),
        rows=sum(seen["batches"]),
        different=len(seen["rows"]),
        which=hashlib.sha1(" ".join(sorted(seen["rows"])).encode()).hexdigest()[:8] if seen["rows"] else "",
        times=dict(_by_kind(report["files"]["times"])),
        printed=len(lines(report["stdout"], ())),
    )


def _by_kind(times: dict[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for path, count in times.items():
        (kind,) = kinds([path])
        found[kind] += count
    return found


def _tenth(values: list[float]) -> int:
    return max(1, int(len(values) * TAIL))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else nan


def _sample(variables: list[dict[str, Any]]) -> list[float]:
    values = [value for variable in variables for value in variable["values"]]
    return values[:: max(1, -(-len(values) // SAMPLE))]
