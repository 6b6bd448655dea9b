"""Whether the loss goes down as it did alone, for the rows seen by all ranks, within what other seeds give alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from horovodize.verifying.contract import Check
from horovodize.verifying.runs import SAME, Curve, Run, distance
from horovodize.verifying.scalings import Scaling, drawn_length

POINTS = 40  # of a curve
WAY = 0.75  # of the loss's way down that a run with larger batches has to go
CLOSE = 2e-2  # how far the weights of a run may end from the original's: rounding
APART = (
    0.25  # the same where the first step comes before the broadcast, as in Keras, and so is each rank's own
)


@dataclass(frozen=True)
class Compared:
    """One loss: `alone` has a curve for each seed, all at POINTS equal parts of the way.

    rows   rows that all ranks together saw at the end; 0 where they can't be seen
    differs  what is different, or nothing
    since    the part of the way (0 to 1) from which on it lies above the band
    flat     whether it goes down alone by no more than it varies: a game's, that of adversaries, that of a few steps"""

    alone: list[list[float]]
    ranks: list[float]
    rows: int
    differs: str = ""
    since: float = 1.0
    flat: bool = False


@dataclass(frozen=True)
class Parity:
    losses: list[Compared]
    weights: str = ""  # how the weights end elsewhere than the original's, where they should not
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
    losses = [_compared([curves[i] for curves in by_seed], its[i], rows) for i in range(count)]
    weights, notes = _weights(alone, run, scaled, checks)
    if not losses and not weights:
        notes = (*notes, "no loss was seen")
    found = Parity(losses, weights, notes)
    if found.alike:
        return found
    return Parity(losses, weights, notes, _cause(checks, scaled, run))


def _models(run: Run) -> tuple[int, ...]:
    """The sizes of what each optimizer trains: they differ where a script draws its models."""
    return tuple(len(weights) for weights in run.ranks[0].weights)


def _compared(alone: Sequence[Curve], its: Curve, rows: int) -> Compared:
    curves, ranks = [curve.smoothed(POINTS) for curve in alone], its.smoothed(POINTS)
    ends = [curve.last for curve in alone if isfinite(curve.last)]
    if not ends:
        return Compared(curves, ranks, rows)
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
        return Compared(curves, ranks, rows)
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
    )


def _weights(
    alone: Sequence[Run], run: Run, scaled: Sequence[Scaling], checks: Sequence[Check]
) -> tuple[str, tuple[str, ...]]:
    """Steps that are the same must end with the same weights, unless something is drawn, or depends on the batch."""
    original, first = alone[0].ranks[0], run.ranks[0]
    if run.stopped or not scaled or any(one.kind != "strong" or one.fault for one in scaled):
        return "", ()
    if drawn_length(alone) and original.steps != first.steps:
        return "", ("how long it trains differs by seed: the weights at the end are not compared",)
    pairs = zip(original.weights, first.weights, strict=False)
    apart = max((distance(a, b) for a, b in pairs), default=0.0)
    broadcast = all(one["trace"][0]["broadcasts"] for one in first.optimizers if one["trace"])
    if apart <= (SAME if run.size == 1 else CLOSE if broadcast else APART):
        return "", ()
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
    return ("", (f"{told}: {', '.join(excuses)}",)) if excuses else (told, ())


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
