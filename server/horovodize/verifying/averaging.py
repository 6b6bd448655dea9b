"""Whether gradients are averaged over ranks or added up: told by what each rank computed and what was applied, where that is
seen; else by the operations that ran."""

from __future__ import annotations

from math import sqrt

from horovodize.verifying.runs import Run, mean

_SAME = 1e-3  # of the length of what is applied: rounding, where gradients travel in float16


def added_up(run: Run) -> bool:
    """Whether gradients are added up, not averaged, with every step: a loss is a rank's share then."""
    first = run.ranks[0]
    if run.size == 1:
        return False
    factors = _factors(run)
    if factors:
        return all(abs(factor - run.size) <= _SAME * run.size for factor in factors)
    return bool(first.report["sums"] >= max(1, *first.steps, 0))


def _factors(run: Run) -> list[float]:
    """How many times the mean of the ranks' own gradients each of the first steps applies. Nothing where that isn't seen: what
    is applied may be clipped, or collected over several batches."""
    found = []
    for steps in zip(*(rank.report.get("averaging", ()) for rank in run.ranks), strict=False):
        applied, own = steps[0]["applied"], [step["own"] for step in steps]
        if len({len(values) for values in (applied, *own)}) > 1:
            return []
        middle = [mean(column) for column in zip(*own, strict=True)]
        length, size = _length(middle), _length(applied)
        if not length or not size:
            continue
        factor = sum(a * m for a, m in zip(applied, middle, strict=True)) / length**2
        if not _length([a - factor * m for a, m in zip(applied, middle, strict=True)]) <= _SAME * size:
            return []
        found.append(factor)
    return found


def _length(values: list[float]) -> float:
    return sqrt(sum(value * value for value in values))
