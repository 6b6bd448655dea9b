"""Trains alone and on ranks, judges, and says whether they train the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any

from horovodize.verifying.check import Check
from horovodize.verifying.contract import contract
from horovodize.verifying.parity import (
    Parity,
    ends_apart,
    far_enough,
    is_share,
    other_scale,
    parity,
    same_source,
    steps_first,
)
from horovodize.verifying.runs import Run, repeats
from horovodize.verifying.scalings import (
    FREELY,
    STRICTLY,
    Scaling,
    Settled,
    done_sooner,
    scalings,
    settled_by,
)
from horovodize.verifying.speed import Speed, speed

SEED = 20
_PATHS = 3  # how many of them a note names
MORE_SEEDS = 4  # that are trained alone at most, to see whether a script draws how long it trains
# Which script, "original" or "distributed", or one with other gradients ("original rounded": see `probe/gradients.py`); on how
# many ranks (0: alone, without Horovod's launcher); from which seed.
Train = Callable[[str, int, int], Run]

_UNREPEATED = (
    "alone it doesn't repeat itself with the same seed, either: the weights at the end are not compared"
)
_ROUNDED = (
    "the weights end elsewhere than the original's, but not by more than other rounding takes them; or only by a first step "
    "from each rank's own weights"
)
_OTHER_WEIGHTS = (
    "rank 0 begins with other weights than alone, as they are drawn after something else: whether the loss is the same number "
    "before anything is trained can't be compared"
)
_OTHER_ROWS = (
    "ranks train on other rows than alone, as those of a game: whether the loss is the same number before anything is trained "
    "can't be compared"
)
_UNLUCKY = "with one seed the loss differs, with another it doesn't: it says little, for alone it doesn't go down either"


class CouldNotRun(Exception):
    """Why nothing can be compared: a text for the user."""


@dataclass(frozen=True)
class Judged:
    """A run on `size` ranks, judged."""

    size: int
    run: Run
    checks: list[Check]
    scalings: list[Scaling] = field(default_factory=list)
    parity: Parity = field(default_factory=lambda: Parity([]))
    speed: Speed = field(default_factory=Speed)

    @property
    def length(self) -> bool:
        """Whether more or less was trained than alone."""
        return any(check.length for check in self.checks)

    @property
    def added_up(self) -> bool:
        """Whether gradients seem to be added up that should be averaged."""
        return any(check.added_up for check in self.checks)

    @property
    def loss_alone(self) -> bool:
        """Whether it differs in its loss, and in nothing else, where the loss says little: alone it doesn't go down."""
        if self.alike or not all(check.holds for check in self.checks) or self.parity.weights:
            return False
        return all(one.flat for one in self.parity.losses if one.differs)

    @property
    def alike(self) -> bool:
        return all(check.holds for check in self.checks) and self.parity.alike

    @property
    def conclusion(self) -> str:
        """ "trains the same", or since when it differs and why."""
        if self.alike:
            return "trains the same"
        broken = [f"{check.broken[0]}" for check in self.checks if check.broken]
        if not self.run.complete:
            return broken[0]
        differing = [one for one in self.parity.losses if one.differs]
        if differing:
            one = min(differing, key=lambda compared: compared.since)
            at = f"row {round(one.since * one.rows):,}" if one.rows else f"{one.since:.0%} of the way"
            return f"differs, from {at} on, because of {self.parity.cause}"
        return f"differs: {self.parity.weights or broken[0]}"


@dataclass(frozen=True)
class Verdict:
    """alone: the original, with several seeds."""

    script: str
    alone: Sequence[Run]
    judged: Sequence[Judged]
    notes: Sequence[str] = ()

    @property
    def alike(self) -> bool:
        return all(one.alike for one in self.judged)

    def as_json(self) -> dict[str, Any]:
        return {
            "script": self.script,
            "alike": self.alike,
            "seeds": len(self.alone),
            "notes": list(self.notes),
            "runs": [_run_json(one) for one in self.judged],
        }


def verify(
    script: str,
    train: Train,
    sizes: Sequence[int],
    *,
    seeds: int = 3,
    rate: str = "linear",
    tell: Callable[[str], None] = lambda text: None,
) -> Verdict:
    """`rate` is what the rate of larger batches is multiplied by, as in `Options.rate`. Raises CouldNotRun."""
    alone: list[Run] = []
    for seed in range(SEED, SEED + 100 * seeds, 100):
        tell(f"alone, seed {seed}")
        run = train("original", 0, seed)
        if not run.complete:
            if alone:
                break  # one seed is enough to compare with
            raise CouldNotRun(f"{script} doesn't train alone: {run.why()}")
        alone.append(run)
    if not alone[0].ranks[0].optimizers and not alone[0].ranks[0].weights:
        raise CouldNotRun(f"{script}: no training was seen{_unseen(alone[0])}")
    stills: dict[tuple[str, int], Run] = {}

    def untrained(which: str, size: int) -> Run:
        if (which, size) not in stills:
            stills[which, size] = train(f"{which} untrained", size, SEED)
        return stills[which, size]

    judged: list[Judged] = []
    seeded, repeated = len(alone), None
    for size in sizes:
        told = f"on {size} rank{'s' if size > 1 else ''}"
        tell(told)
        run = train("distributed", size, SEED)
        one, settled, shares = judge(alone, run, rate, FREELY), FREELY, False
        if one.added_up:
            tell(f"alone and {told}, without gradients: are losses that are added up divided before?")
            pair = untrained("original", 0), untrained("distributed", size)
            shares = all(still.complete for still in pair) and repeats(*pair) and is_share(*pair)
            one = judge(alone, run, rate, FREELY, shares)
        if one.alike and not judge(alone, run, rate, STRICTLY, shares).alike:
            tell(f"{told}, without gradients: do steps, rates and files follow from how well it trains?")
            settled = settled_by(run, untrained("distributed", size))
        elif one.alike:
            settled = STRICTLY
        one = judge(alone, run, rate, settled, shares)
        while one.length and alone[0].ranks[0].report["drew"] and len(alone) < seeded + MORE_SEEDS:
            seed = SEED + 100 * len(alone)
            tell(f"alone, seed {seed}: it may draw how long it trains")
            more = train("original", 0, seed)
            if not more.complete:
                break
            alone.append(more)
            one = judge(alone, run, rate, settled, shares)
        if one.loss_alone:
            tell(f"{told}, with another seed: the loss differs")
            other = judge(alone, train("distributed", size, SEED + 100), rate, STRICTLY, shares)
            if other.alike:
                one = _noted(other, _UNLUCKY)
        if all(check.holds for check in one.checks) and any(loss.scaled for loss in one.parity.losses):
            tell(f"alone and {told}, without gradients: is the loss the same before anything is trained?")
            pair = untrained("original", 0), untrained("distributed", size)
            if all(still.complete for still in pair):
                if not repeats(*pair):
                    one = _noted(one, _OTHER_WEIGHTS)
                elif not same_source(*pair):
                    one = _noted(one, _OTHER_ROWS)
                elif differs := other_scale(*pair):
                    one = _with_scale(one, differs)
        if one.parity.weights:
            if repeated is None:
                tell("alone, again: does it repeat itself?")
                again = train("original", 0, SEED)
                repeated = not again.complete or repeats(alone[0], again)
            one = one if repeated else _without_weights(one, _UNREPEATED)
        if one.parity.weights:
            one = one if differs_by_more(alone[0], one, train, tell) else _without_weights(one, _ROUNDED)
        judged.append(one)
    notes = _shared_files([*alone, *(one.run for one in judged)])
    notes += list(dict.fromkeys(f"not seen: {why}" for why in alone[0].ranks[0].report["unseen"]))
    if limited := alone[0].ranks[0].report["limited"]:
        notes.append(f"the data limit held for {', '.join(limited)}")
    return Verdict(script, alone, judged, notes)


def differs_by_more(alone: Run, one: Judged, train: Train, tell: Callable[[str], None]) -> bool:
    """Whether weights end elsewhere by more than rounding takes them in this script. Where ranks take their first step before
    the broadcast, each from weights of its own, that step is left out, on ranks and alone: the rest must be the same."""
    if not far_enough(alone, alone, one.parity.apart):
        return False
    tell(
        "alone, with gradients that are rounded otherwise: how far do the weights end from where they would?"
    )
    rounded = train("original rounded", 0, SEED)
    apart = one.parity.apart
    if steps_first(one.run) and far_enough(alone, rounded, apart):
        tell(f"alone and on {one.size} ranks, without the first step: is the rest the same?")
        apart = ends_apart(train("original headless", 0, SEED), train("distributed headless", one.size, SEED))
    return far_enough(alone, rounded, apart)


def _noted(one: Judged, note: str) -> Judged:
    return replace(one, parity=replace(one.parity, notes=(*one.parity.notes, note)))


def _with_scale(one: Judged, differs: str) -> Judged:
    losses = [
        replace(loss, differs=differs, since=0.0) if loss.scaled else loss for loss in one.parity.losses
    ]
    return replace(
        one, parity=replace(one.parity, losses=losses, cause=f"how the loss is averaged: {differs}")
    )


def _without_weights(one: Judged, why: str) -> Judged:
    """What is judged but for the weights at the end, of which is said why they are not compared."""
    found = one.parity
    cause = "" if not any(loss.differs for loss in found.losses) else found.cause
    return replace(one, parity=replace(found, weights="", cause=cause, notes=(*found.notes, why)))


def judge(
    alone: Sequence[Run], run: Run, rate: str, settled: Settled = STRICTLY, shares: bool = False
) -> Judged:
    """settled  what is known not to follow from how well it trains. What does may differ: it may stop sooner, its rate may
             change at other steps, and it may write more or less often
    shares   whether the loss of a rank is known to be its share of the mean over all ranks, so that adding up averages"""
    if not run.complete:
        if "No module named 'horovod'" in run.why():
            raise CouldNotRun("the interpreter has no Horovod: install it, or name another with --python")
        return Judged(run.size, run, [Check("it trains to its end", (run.why(),))])
    sooner = not settled.length and done_sooner(alone, run)
    scaled = scalings(alone, run, rate, sooner, settled)
    checks = contract(alone, run, scaled, sooner, settled, shares)
    if run.size == 1:
        checks = [check for check in checks if check.seen]
        return Judged(run.size, run, checks, scaled, parity(alone, run, scaled, checks))
    return Judged(run.size, run, checks, scaled, parity(alone, run, scaled, checks), speed(alone[0], run))


def _shared_files(runs: Sequence[Run]) -> list[str]:
    """What several runs wrote at the same place, outside their copies of the folder: none but the first began without it."""
    written = Counter(path for run in runs for path in run.outside)
    paths = sorted(path for path, times in written.items() if times > 1)
    if not paths:
        return []
    told = ", ".join(paths[:_PATHS]) + (f" and {len(paths) - _PATHS} more" if len(paths) > _PATHS else "")
    return [
        f"written by several runs, outside their copies of the folder: {told}. A run may read what the one before it left: "
        "let the script write below its own folder, and verify again"
    ]


def _unseen(run: Run) -> str:
    unseen = run.ranks[0].report["unseen"]
    return f" ({'; '.join(unseen)})" if unseen else ""


def _run_json(one: Judged) -> dict[str, Any]:
    return {
        "ranks": one.size,
        "alike": one.alike,
        "conclusion": one.conclusion,
        "seconds": round(one.run.seconds, 1),
        "scaling": [s.kind for s in one.scalings],
        "checks": [
            {"name": c.name, "holds": c.holds, "seen": c.seen, "broken": c.broken, "notes": c.notes}
            for c in one.checks
        ],
        "losses": [_finite(asdict(loss)) for loss in one.parity.losses],
        "weights": one.parity.weights,
        "notes": one.parity.notes,
        "cause": one.parity.cause,
        "speed": asdict(one.speed),
    }


def _finite(value: Any) -> Any:
    """Without numbers that JSON doesn't have."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, (list, tuple)) else value
