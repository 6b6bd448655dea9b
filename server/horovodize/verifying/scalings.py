"""How a run scales, told from what it did: steps and rates against those of the run alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose, isnan, sqrt
from typing import Any

from horovodize.verifying.runs import Run, repeats

# Parts of the way at which a rate is looked for around the same place of the run alone.
_AROUND = 0.1
# The part of the steps whose rate may be another, where it may follow from how well it trains.
_ODD = 0.15
# How far above the loss of alone still counts as reached.
_HARDLY = 1.15


@dataclass(frozen=True)
class Scaling:
    """Of one optimizer: `kind` is "weak" (fewer steps with more rows each), "strong" (the same steps, the rows divided) or "".

    fault        what is wrong with steps or rate, or nothing
    larger_rate  whether the rate is larger than alone
    length       whether what is wrong is the number of steps"""

    kind: str
    fault: str = ""
    larger_rate: bool = False
    length: bool = False


def scalings(
    alone: Sequence[Run], run: Run, rate: str, sooner: bool = False, settled: bool = False
) -> list[Scaling]:
    """One for each optimizer.

    rate     what the rate of larger batches is multiplied by, as in `Options.rate`
    sooner   it stopped sooner, being as good
    settled  the rates don't follow from how well it trains: they are compared throughout"""
    by_seed = [r.ranks[0] for r in alone]
    its = run.ranks[0]
    grown = _grown(alone[0], run) if rate == "linear" else None
    count = min(len(its.optimizers), *(len(r.optimizers) for r in by_seed))
    drawn = drawn_length(alone)
    return [
        _scaling(
            [r.optimizers[i] for r in by_seed], its.optimizers[i], run, rate, grown, sooner, drawn, settled
        )
        for i in range(count)
    ]


def drawn_length(alone: Sequence[Run]) -> bool:
    """Whether a script draws how long it trains: with other seeds it takes other numbers of steps, and it draws before them."""
    differs = len({tuple(one.ranks[0].steps) for one in alone}) > 1
    return differs and all(one.ranks[0].report["drew"] for one in alone)


def span(counts: Sequence[int], drawn: bool) -> tuple[int, int]:
    """The least and the most of what some seeds gave; of what is drawn, others may give as much less or more again."""
    low, high = min(counts), max(counts)
    return (max(1, 2 * low - high), 2 * high - low) if drawn else (low, high)


def done_sooner(alone: Sequence[Run], run: Run) -> bool:
    """Whether what stops when it's good enough has stopped sooner: every loss ends below all that it came to alone; or hardly
    above, where it is seen to stop so, after other numbers of steps with other seeds. (One rank's own loss may be what was good
    enough: the mean over ranks is above it.)"""
    columns = zip(run.curves, *(one.curves for one in alone), strict=False)
    ends = [(its.last, [curve.last for curve in others]) for its, *others in columns]
    if len({tuple(one.ranks[0].steps) for one in alone}) > 1:
        return bool(ends) and all(its < _HARDLY * max(others) for its, others in ends)
    return bool(ends) and all(its < min(others) for its, others in ends)


def decides_nothing(run: Run, untrained: Run) -> bool:
    """Whether how well it trains decides neither how long nor at which rates: without gradients it takes the same steps."""
    if not untrained.ranks or untrained.ranks[0].number or repeats(run, untrained):
        return False
    its, others = (one.ranks[0].optimizers for one in (run, untrained))
    if not its or [one["steps"] for one in its] != [one["steps"] for one in others]:
        return False
    points = [[point["rate"] for one in which for point in one["trace"]] for which in (its, others)]
    return len(points[0]) == len(points[1]) and all(
        isclose(a, b, rel_tol=1e-4) or isnan(a + b) for a, b in zip(*points, strict=True)
    )


def _grown(alone: Run, run: Run) -> float | None:
    """How many times the rows of alone the first step of all ranks has: fewer than their number where rows are few."""
    before, after = alone.ranks[0].batches[:1], [rank.batches[:1] for rank in run.ranks]
    return sum(map(sum, after)) / before[0] if before and all(after) else None


def _scaling(
    alone: Sequence[dict[str, Any]],
    its: dict[str, Any],
    run: Run,
    rate: str,
    grown: float | None,
    sooner: bool,
    drawn: bool,
    settled: bool,
) -> Scaling:
    size = run.size
    steps = [one["steps"] for one in alone]
    low, high = span(steps, drawn)
    allowed = max(3, 0.3 * high / size)
    fewer = low / size - allowed <= its["steps"] <= high / size + allowed
    fewer = fewer or (sooner and its["steps"] < low / size)
    same = low - max(1, 0.02 * low) <= its["steps"] <= high + max(1, 0.02 * high)
    factor = {"linear": float(size), "sqrt": sqrt(size), "keep": 1.0}[rate]
    first = _ratio(its["first_rate"], alone[0]["first_rate"])
    if grown is not None and isclose(first, max(1.0, grown), rel_tol=0.05):
        factor = first
    scaled, kept = isclose(first, factor, rel_tol=0.02), isclose(first, 1, rel_tol=0.02)
    if run.stopped:
        fewer = same = True
    if size == 1 or (same and kept and not (fewer and scaled)):
        kind, wanted, budget = "strong", 1.0, same
    elif fewer and (scaled or not same):
        kind, wanted, budget = "weak", factor, fewer
    elif same and scaled:  # the steps of one process at the rate of larger batches
        return Scaling(
            "", f"every rank takes {its['steps']} steps, as many as alone, at {first:.3g} times the rate"
        )
    else:
        kind, wanted, budget = ("strong", 1.0, same) if kept else ("weak", factor, fewer)
    if not budget:
        told = f"{low}" if low == high else f"{low} to {high}"
        return Scaling(
            "",
            f"every rank takes {its['steps']} steps, alone {told}: neither as many nor 1/{size} of that",
            length=True,
        )
    if isnan(its["first_rate"]) and not isnan(alone[0]["first_rate"]):
        return Scaling(kind, "the rate is not a number")
    if not isnan(first) and not isclose(first, wanted, rel_tol=0.02):
        rows = f"each step trains on {size} times the rows" if kind == "weak" else "the steps are the same"
        return Scaling(
            kind,
            f"the rate starts at {its['first_rate']:.4g}, {first:.3g} times that alone, not {wanted:.3g}: {rows}",
        )
    # As many steps as alone, of N times the rows: the rest of them has nothing to be compared with.
    stretch = size if run.stopped and kind == "weak" else 1
    trace = [point["rate"] for point in its["trace"]]
    return Scaling(
        kind, _later(alone, trace[: -(-len(trace) // stretch)], wanted, size, settled), first > 1.02
    )


def _later(
    alone: Sequence[dict[str, Any]], trace: Sequence[float], wanted: float, size: int, settled: bool
) -> str:
    """Where the rate leaves what it was alone at the same part of the way."""
    traces = [[point["rate"] for point in one["trace"]] for one in alone]
    if any(not _follows(trace, traces[0], 1.0, 1) for trace in traces[1:]):
        return ""  # it follows from metrics, which differ with every seed
    off = _follows_not(trace, traces[0], wanted, size, 0.0 if settled else _ODD)
    if not off:
        return _turns(trace, traces[0], wanted, size) if settled and trace and traces[0] else ""
    step, rate, others = off
    return f"at step {step} of a rank the rate is {rate:.4g}, where {wanted:.3g} times that alone is about {others:.4g}"


def _follows(trace: Sequence[float], original: Sequence[float], factor: float, size: int) -> bool:
    return _follows_not(trace, original, factor, size) is None


def _follows_not(
    trace: Sequence[float], original: Sequence[float], factor: float, size: int, odd: float = _ODD
) -> tuple[int, float, float] | None:
    """The first step whose rate is none of those alone around the same part of the way, if more than the part `odd` are."""
    if not trace or not original:
        return None
    around = max(_AROUND, 2.0 * size / len(original))
    off = []
    for step, rate in enumerate(trace):
        at = step / max(1, len(trace) - 1)
        low, high = (round((at + side) * (len(original) - 1)) for side in (-around, around))
        near = [factor * value for value in original[max(0, low) : high + 1]]
        if isnan(rate) or not near:
            continue
        if not 0.85 * min(near) - 1e-12 <= rate <= 1.15 * max(near) + 1e-12:
            off.append((step, rate, near[len(near) // 2]))
    return off[0] if len(off) > odd * len(trace) else None


def _turns(trace: Sequence[float], original: Sequence[float], factor: float, size: int) -> str:
    """How a rate that goes up and down does so more or less often than alone: by the way it goes in all, of which a rank, that
    takes a step where one process takes `size`, may miss the peaks."""
    its, most = _travel(trace), factor * _travel(original)
    least = factor * min(_travel(original[begin::size]) for begin in range(size))
    slack = factor * (max(original) - min(original)) + 0.2 * most
    if least - slack <= its <= most + slack or isnan(its + most):
        return ""
    return f"the rate goes up and down by {its:.3g} in all, {factor:.3g} times that alone is {most:.3g}"


def _travel(rates: Sequence[float]) -> float:
    return sum(abs(after - before) for before, after in pairwise(rates))


def _ratio(its: float, alone: float) -> float:
    """Not a number where both are, or both are 0, as at the start of a warm-up."""
    if alone:
        return its / alone
    return float("inf") if its else float("nan")
