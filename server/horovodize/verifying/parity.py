"""Whether the loss goes down as it did alone, for the rows seen by all ranks, within what other seeds give alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt

from horovodize.verifying.averaging import added_up
from horovodize.verifying.check import Check
from horovodize.verifying.runs import Curve, Run, distance
from horovodize.verifying.scalings import Scaling, drawn_length

POINTS = 40  # of a curve
WAY = 0.75  # of the loss's way down that a run with larger batches has to go
# How far the weights may end from the original's before it is asked what rounding makes of them in this script: some digits.
CLOSE = 1e-5
# How many times as far as another rounding of each gradient takes the weights: ranks round sums over rows, and over ranks.
ROUNDINGS = 10
# How many times the loss of the first step may be larger or smaller than alone before both are trained without gradients: a
# share of two ranks is half of it.
SCALE = 1.4
# By how much means over the same rows may differ then: short batches count as much as full ones.
SAME_MEAN = 0.1
# How far the rows of two runs may be from what chance makes of one source.
DEVIATIONS = 4


@dataclass(frozen=True)
class Compared:
    """One loss: `alone` has a curve for each seed, all at POINTS equal parts of the way.

    rows   rows that all ranks together saw at the end; 0 where they can't be seen
    differs  what is different, or nothing
    since    the part of the way (0 to 1) from which on it lies above the band
    flat     whether it goes down alone by no more than it varies: a game's, that of adversaries, that of a few steps
    scaled   whether it begins as another multiple than alone, for all that is seen"""

    alone: list[list[float]]
    ranks: list[float]
    rows: int
    differs: str = ""
    since: float = 1.0
    flat: bool = False
    scaled: bool = False


@dataclass(frozen=True)
class Parity:
    losses: list[Compared]
    weights: str = ""  # how the weights end elsewhere than the original's, where they should not
    apart: float = 0.0  # by how much of their length
    notes: tuple[str, ...] = ()
    cause: str = ""

    @property
    def alike(self) -> bool:
        return not self.weights and not any(one.differs for one in self.losses)


def parity(alone: Sequence[Run], run: Run, scaled: Sequence[Scaling], checks: Sequence[Check]) -> Parity:
    by_seed = [one.curves for one in alone]
    its, rows = run.curves, run.rows.total()
    if run.stopped and any(
        one.kind == "weak" for one in scaled
    ):  # as many steps as alone, of N times the rows
        its = [Curve(curve.losses[: -(-len(curve.losses) // run.size)], curve.times) for curve in its]
        rows //= run.size
    count = min([len(its), *(len(curves) for curves in by_seed)], default=0)
    if len({_models(one) for one in (*alone, run)}) > 1:
        return Parity([], notes=("each run trains other models, so their losses are not compared",))
    shares = run.size if added_up(run) else 1
    losses = [_compared([curves[i] for curves in by_seed], its[i], rows, shares) for i in range(count)]
    weights, apart, notes = _weights(alone, run, scaled)
    if not losses and not weights:
        notes = (*notes, "no loss was seen")
    found = Parity(losses, weights, apart, notes)
    if found.alike:
        return found
    return replace(found, cause=_cause(checks, scaled, run))


def _seems_scaled(alone: Curve, its: Curve, shares: int) -> bool:
    """Whether the loss of the first step, where nothing has been trained, is of another size. Rows may make it so."""
    if not alone.losses or not its.losses or not min(alone.losses[0], its.losses[0]) > 0:
        return False
    ratio = its.losses[0] * shares / alone.losses[0]
    return not 1 / SCALE <= ratio <= SCALE


def other_scale(alone: Run, run: Run) -> str:
    """How a loss is another multiple than alone, where neither trains: both see rows of the same source with the same weights,
    in other batches, so that only the mean over them can be compared."""
    shares = run.size if added_up(run) else 1
    for before, after in zip(alone.curves, run.curves, strict=False):
        if not _same_mean(before, after, shares):
            one, other = before.mean_and_error[0], after.mean_and_error[0]
            told = f"{other:.4g}" + (f" a share, {other * shares:.4g} in all" if shares > 1 else "")
            return f"the loss is another multiple: before anything is trained it is {told}, alone {one:.4g}"
    return ""


def is_share(alone: Run, run: Run) -> bool:
    """Whether the losses of a rank are surely its shares of those alone, where neither trains: they are as shares, and aren't
    as wholes. Where they vary so much from batch to batch that they may be either, or none is seen, it isn't known."""
    pairs = list(zip(alone.curves, run.curves, strict=False))
    as_shares = all(_same_mean(before, after, run.size) for before, after in pairs)
    as_wholes = any(_same_mean(before, after, 1) for before, after in pairs)
    return bool(pairs) and same_source(alone, run) and as_shares and not as_wholes


def same_source(alone: Run, run: Run) -> bool:
    """Whether two runs take their rows from the same source: dealt, or drawn by chance alone. Not those of a game, whose own
    moves lead to other rows: losses of these can't be compared. (Where rows aren't seen, it is taken for granted.)"""
    one, other = alone.rows, run.rows
    if not one or not other:
        return True
    # Of a row that both have found n times together, each has its part, but for chance: as in a test of homogeneity.
    part, rows = one.total() / (one.total() + other.total()), one.keys() | other.keys()
    off = sum((one[row] - part * (one[row] + other[row])) ** 2 / (one[row] + other[row]) for row in rows)
    return off / (part * (1 - part)) <= len(rows) + DEVIATIONS * sqrt(2 * len(rows))


def _same_mean(alone: Curve, its: Curve, shares: int) -> bool:
    """Whether two losses have one mean, within what batches of other rows make of it.

    shares: by how many a rank's is multiplied"""
    (one, off), (other, odd) = alone.mean_and_error, its.mean_and_error
    return abs(one - other * shares) <= SAME_MEAN * abs(one) + 4 * (off + odd * shares)


def _models(run: Run) -> tuple[int, ...]:
    """The sizes of what each optimizer trains: they differ where a script draws its models."""
    return tuple(len(weights) for weights in run.ranks[0].weights)


def _compared(alone: Sequence[Curve], its: Curve, rows: int, shares: int) -> Compared:
    """shares: by how many the loss of a rank must be multiplied, where it is a share of a sum."""
    curves, ranks = [curve.smoothed(POINTS) for curve in alone], its.smoothed(POINTS)
    scaled = _seems_scaled(alone[0], its, shares)
    ends = [curve.last for curve in alone if isfinite(curve.last)]
    if not ends:
        return Compared(curves, ranks, rows, scaled=scaled)
    if not isfinite(its.last):
        at = next((i for i, value in enumerate(ranks) if not isfinite(value)), POINTS - 1)
        return Compared(
            curves, ranks, rows, f"the loss ends at {its.last}, alone at {ends[0]:.4g}", at / POINTS
        )
    low, high, start = min(ends), max(ends), alone[0].first
    band = max(high - low, 0.1 * abs(high), 1e-6)
    flat = start - high <= 2 * alone[0].noise
    lost = its.last > high + band and (flat or start - its.last < WAY * (start - high))
    # Losses of players against each other go up and down, and those of a few steps vary: they must stay of a size.
    if lost and flat and its.last <= 3 * max(abs(low), abs(high), abs(start)):
        lost = False
    if not lost:
        return Compared(curves, ranks, rows, scaled=scaled)
    above = [
        value > max(column) + band for value, column in zip(ranks, zip(*curves, strict=True), strict=True)
    ]
    since = next((i for i in range(POINTS) if all(above[i:])), POINTS - 1)
    told = " ".join(f"{value:.4g}" for value in ends)
    return Compared(
        curves,
        ranks,
        rows,
        f"the loss ends at {its.last:.4g}, alone at {told} (from {start:.4g})",
        since / POINTS,
        flat,
        scaled,
    )


def _weights(alone: Sequence[Run], run: Run, scaled: Sequence[Scaling]) -> tuple[str, float, tuple[str, ...]]:
    """Steps that are the same must end with the same weights, unless something is drawn, or depends on the batch. What is
    wrong, by how much of their length, and notes."""
    original, first = alone[0].ranks[0], run.ranks[0]
    if run.stopped or not scaled or any(one.kind != "strong" or one.fault for one in scaled):
        return "", 0.0, ()
    if drawn_length(alone) and original.steps != first.steps:
        return "", 0.0, ("how long it trains differs by seed: the weights at the end are not compared",)
    pairs = zip(original.weights, first.weights, strict=False)
    apart = max((distance(a, b) for a, b in pairs), default=0.0)
    if apart <= CLOSE:
        return "", apart, ()
    told = f"the steps are the same, but the weights end {apart:.2g} of their length from the original's"
    had, has = alone[0].rows, run.rows
    excuses = list(original.report["layers"])
    if original.report["draws"] or any(r.report["draws"] for r in run.ranks):
        excuses.append("random draws")
    elif had and has and set(had) != set(has):
        excuses.append("other rows")
    if had and has and has.total() > 1.5 * had.total():
        excuses.append("every rank's own rows")
    if (
        run.size > 1
        and had
        and original.batches
        and len(original.batches) > 1
        and len(had) > max(original.batches)
    ):
        excuses.append("other batches")
    return ("", apart, (f"{told}: {', '.join(excuses)}",)) if excuses else (told, apart, ())


def far_enough(original: Run, rounded: Run, apart: float) -> bool:
    """Whether weights end further from the original's than other roundings of its gradients take them."""
    known = rounded.complete
    pairs = zip(original.ranks[0].weights, rounded.ranks[0].weights, strict=False) if known else ()
    return apart > max((ROUNDINGS * distance(a, b) for a, b in pairs), default=0.0) and apart > CLOSE


def ends_apart(one: Run, other: Run) -> float:
    """How far the weights of two runs end from each other, by their length. Without end where one of them fails."""
    if not one.complete or not other.complete:
        return inf
    pairs = zip(one.ranks[0].weights, other.ranks[0].weights, strict=False)
    return max((distance(a, b) for a, b in pairs), default=0.0)


def steps_first(run: Run) -> bool:
    """Whether the first step comes before the broadcast, as in Keras."""
    return run.size > 1 and not all(
        one["trace"][0]["broadcasts"] for one in run.ranks[0].optimizers if one["trace"]
    )


def _cause(checks: Sequence[Check], scaled: Sequence[Scaling], run: Run) -> str:
    for number, what in ((4, "the data"), (2, "steps and rate"), (1, "random state"), (0, "the collectives")):
        if number < len(checks) and checks[number].broken:
            text = checks[number].broken[0]
            kind = "batch norm" if "statistics" in text else "the rate" if "rate" in text else what
            return f"{kind}: {text}"
    layers = run.ranks[0].report["layers"]
    if any("BatchNorm" in name for name in layers):
        return "perhaps batch norm: its statistics are of a rank's own rows"
    if any(one.kind == "weak" for one in scaled):
        return "perhaps the rate: larger batches at a larger rate are another training; try --rate sqrt or --rate keep"
    return "perhaps random state: ranks draw other numbers than one process"
