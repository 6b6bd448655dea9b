"""How a run scales, told from what it did: steps and rates against those of the run alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose, isnan, sqrt
from typing import Any

from horovodize.verifying.runs import Run, repeats
from horovodize.verifying.tolerances import RATE, RATE_OF_LARGEST, Passes, may_be_divided

# The part of the way around which a rate is looked for that changes with each step: its period, at least ten times the number
# of ranks, is divided by them and rounded down.
_AROUND = 0.1
# How far above the loss of alone still counts as reached: the mean over ranks, where one rank's own loss was good enough.
_HARDLY = 1.15


@dataclass(frozen=True)
class Settled:
    """What is known, or to be taken, not to follow from how well it trains: it must be the same on ranks then.

    length  how many steps it takes
    rates   the rates after the first
    files   how often it writes"""

    length: bool = True
    rates: bool = True
    files: bool = True

    def __bool__(self) -> bool:
        return self.length or self.rates or self.files


STRICTLY, FREELY = Settled(), Settled(length=False, rates=False, files=False)


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
    alone: Sequence[Run], run: Run, rate: str, sooner: bool = False, settled: Settled = STRICTLY
) -> list[Scaling]:
    """One for each optimizer.

    rate     what the rate of larger batches is multiplied by, as in `Options.rate`
    sooner   it stopped sooner, being as good
    settled  rates that follow from how well it trains are only compared at their start"""
    by_seed = [r.ranks[0] for r in alone]
    its = run.ranks[0]
    count = min(len(its.optimizers), *(len(r.optimizers) for r in by_seed))
    factor = {"linear": float(run.size), "sqrt": sqrt(run.size), "keep": 1.0}[rate]
    grown = _grown(alone[0], run) if rate == "linear" else None
    how = _How(run, factor, grown, Passes.of(by_seed[0]), sooner, drawn_length(alone), settled.rates)
    return [_scaling([r.optimizers[i] for r in by_seed], its.optimizers[i], how) for i in range(count)]


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


def settled_by(run: Run, untrained: Run) -> Settled:
    """What doesn't follow from how well it trains: it is the same without gradients."""
    if not untrained.ranks or untrained.ranks[0].number or repeats(run, untrained):
        return FREELY
    mine, its = run.ranks[0], untrained.ranks[0]
    if not mine.optimizers or len(mine.optimizers) != len(its.optimizers):
        return FREELY
    length = mine.steps == its.steps
    traces = zip(*([one["trace"] for one in rank.optimizers] for rank in (mine, its)), strict=True)
    pairs = [(a["rate"], b["rate"]) for one, other in traces for a, b in zip(one, other, strict=False)]
    rates = all(isclose(a, b, rel_tol=RATE) or isnan(a + b) for a, b in pairs)
    files = mine.written() == its.written() and run.left.amounts == untrained.left.amounts
    return Settled(length, rates, length and files)


def _grown(alone: Run, run: Run) -> tuple[float, float] | None:
    """How many times the rows of alone the first step of all ranks has: fewer than their number where rows are few. With what
    the rows that can't be divided make of it."""
    before, after = alone.ranks[0].batches[:1], [rank.batches[:1] for rank in run.ranks]
    if not before or not all(after):
        return None
    return sum(map(sum, after)) / before[0], run.size / before[0]


@dataclass(frozen=True)
class _How:
    """How a run on ranks is to be compared: what the rate of larger batches is multiplied by (`factor`), what it may be instead
    where the first batch didn't grow as much (`grown`), and how one process goes through its rows."""

    run: Run
    factor: float
    grown: tuple[float, float] | None
    passes: Passes
    sooner: bool
    drawn: bool
    rates: bool


def _scaling(alone: Sequence[dict[str, Any]], its: dict[str, Any], how: _How) -> Scaling:
    size, passes, stopped = how.run.size, how.passes, how.run.stopped
    low, high = span([one["steps"] for one in alone], how.drawn)
    taken = its["steps"]
    fewer = stopped or (low <= taken * size <= high) or any(_divided(n, how, taken) for n in (low, high))
    fewer = fewer or (how.sooner and taken * size < low)
    # Shares of the rows of each step: a pass may have one more, or less, where rows don't divide.
    odd = passes.rounds if not passes.rows or passes.lost(size) or passes.batch % size else 0
    same = stopped or low - odd <= taken <= high + odd
    rates = [point["rate"] for point in alone[0]["trace"]]
    factor, first = how.factor, its["first_rate"]
    if how.grown is not None:
        grown, off = how.grown
        found = _ratio(first, alone[0]["first_rate"])
        if abs(found - max(1.0, grown)) <= off + RATE:
            factor = found
    scaled, kept = (_starts(first, rates, wanted, size) for wanted in (factor, 1.0))
    if size == 1 or (same and kept and not (fewer and scaled)):
        kind, wanted, budget = "strong", 1.0, same
    elif fewer and (scaled or not same):
        kind, wanted, budget = "weak", factor, fewer
    elif same and scaled:  # the steps of one process at the rate of larger batches
        times = _ratio(first, alone[0]["first_rate"])
        return Scaling("", f"every rank takes {taken} steps, as many as alone, at {times:.3g} times the rate")
    else:
        kind, wanted, budget = ("strong", 1.0, same) if kept else ("weak", factor, fewer)
    if not budget:
        told = f"{low}" if low == high else f"{low} to {high}"
        return Scaling(
            "",
            f"every rank takes {taken} steps, alone {told}: neither as many nor 1/{size} of that",
            length=True,
        )
    if isnan(first) and not isnan(alone[0]["first_rate"]):
        return Scaling(kind, "the rate is not a number")
    times = _ratio(first, alone[0]["first_rate"])
    if not _starts(first, rates, wanted, size):
        rows = f"each step trains on {size} times the rows" if kind == "weak" else "the steps are the same"
        as_alone = abs(times - 1) < RATE
        compared = (
            f"as alone, not at {wanted:.3g} times that"
            if as_alone
            else f"{times:.3g} times that alone, not {wanted:.3g}"
        )
        return Scaling(kind, f"the rate starts at {first:.4g}, {compared}: {rows}")
    # As many steps as alone, of N times the rows: the rest of them has nothing to be compared with.
    stretch = size if stopped and kind == "weak" else 1
    trace = [point["rate"] for point in its["trace"]]
    trace = trace[: -(-taken // stretch)] if stretch > 1 else trace
    # Found right as a whole, it may still be some steps of one process longer, where passes of several trainings are rounded.
    longer = taken * size - low if kind == "weak" and not stopped else 0
    return Scaling(kind, _later(alone, trace, wanted, how, longer) if how.rates else "", times > 1 + RATE)


def _divided(steps: int, how: _How, taken: int) -> bool:
    size, rounds = how.run.size, how.passes.rounds
    # Keras 3 counts a step without rows at the end of each pass over data of which it doesn't know the number.
    idle = rounds if steps - how.passes.batches == rounds > 1 else 0
    return may_be_divided(steps, size, taken, rounds) or may_be_divided(
        steps - idle, size, taken - idle, rounds
    )


def _starts(first: float, rates: Sequence[float], factor: float, size: int) -> bool:
    """Whether a rate is one of those of the first steps of one process, which a step of `size` ranks stands for, by a factor;
    in a warm-up, between those of twice as many: a script that counts a step before it sets the rate says that of the next.
    True where those can't be seen."""
    begin = [factor * rate for rate in rates[:size]]
    if not begin or any(map(isnan, begin)):
        return True
    around = [factor * rate for rate in rates[: 2 * size + 1]]
    if _warms_up(around) and around[0] < first < around[-1]:
        return True
    return any(isclose(first, rate, rel_tol=RATE) for rate in begin)


def _warms_up(rates: Sequence[float]) -> bool:
    return rates[0] < rates[-1] and all(before <= after for before, after in pairwise(rates))


def _later(
    alone: Sequence[dict[str, Any]], trace: Sequence[float], wanted: float, how: _How, longer: int
) -> str:
    """Where the rate leaves what it was alone at the same part of the way. (`longer`: by how many steps of one process all
    ranks together take more.)"""
    traces = [[point["rate"] for point in one["trace"]] for one in alone]
    if any(_leaves(other, traces[0], 1.0, 1, 0.0) for other in traces[1:]):
        return ""  # it follows from metrics, which differ with every seed
    size = how.run.size
    rounding = max(how.passes.longest_rounding(size), longer)
    if not (off := _leaves(trace, traces[0], wanted, size, rounding)):
        return _turns(trace, traces[0], wanted, size) if trace and traces[0] else ""
    step, rate, others = off
    return f"at step {step} of a rank the rate is {rate:.4g}, where {wanted:.3g} times that alone is about {others:.4g}"


def _leaves(
    trace: Sequence[float], original: Sequence[float], factor: float, size: int, rounding: float
) -> tuple[int, float, float] | None:
    """The first step whose rate is none of those alone around the same part of the way. (`rounding`: by how many steps it
    may be elsewhere at the end, where passes are rounded.)"""
    if not trace or not original:
        return None
    changes = [at for at, (a, b) in enumerate(pairwise(original), start=1) if not isclose(a, b, rel_tol=RATE)]
    seldom = len(changes) * 2 * size <= len(original)
    digits = RATE_OF_LARGEST * factor * max(map(abs, original))
    # After the last step stands its rate once more, where something sets a rate before each step.
    again = len(changes) == len(original) - 2 and isclose(original[-1], original[-2], rel_tol=RATE)
    taken = original[:-1] if again else original
    for step, rate in enumerate(trace):
        way = step / max(1, len(trace) - 1)
        at = way * (len(original) - 1)
        # Where it changes seldom, each change may come as much sooner or later as its period is rounded, or passes before it.
        around = (
            size * (1 + sum(change <= at + size for change in changes)) + way * rounding
            if seldom
            else max(_AROUND * (len(original) - 1), 2 * size)
        )
        near = [factor * value for value in original[max(0, round(at - around)) : round(at + around) + 1]]
        if rounding and not seldom and (more := at + way * rounding - (len(taken) - 1)) > 0:
            near += [factor * value for value in _further(taken, min(more, way * rounding + 1))]
        if isnan(rate) or not near:
            continue
        low, high = min(near), max(near)
        if not low - RATE * abs(low) - digits <= rate <= high + RATE * abs(high) + digits:
            return step, rate, near[len(near) // 2]
    return None


def _further(rates: Sequence[float], steps: float) -> list[float]:
    """What a rate that changes with each step comes to, `steps` after its end, where it goes on as it does there: by the same
    factor, or the same difference. (Ranks whose passes are rounded up take more steps than their share.)"""
    before, last = rates[-2:] if len(rates) > 1 else (rates[-1], rates[-1])
    by_factor = last * (last / before) ** steps if before and last / before > 0 else last
    return [by_factor, last + steps * (last - before)]


def _turns(trace: Sequence[float], original: Sequence[float], factor: float, size: int) -> str:
    """How a rate that goes up and down does so more or less often than alone: by the way it goes in all, of which a rank, that
    takes a step where one process takes `size`, may miss the peaks."""
    its, most = _travel(trace), factor * _travel(original)
    least = factor * min(_travel(original[begin::size]) for begin in range(size))
    # One way up or down more, where it ends; its period is rounded as above.
    slack = factor * (max(original) - min(original)) + 2 * _AROUND * most
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
