"""Whether distributed runs of a script train what it trains alone: a line a script.

Which scaling a run has follows from what it did: `weak` is steps ÷ size and rate × size, `strong` leaves both as they were.
A strong run must end with the weights of the original. A weak one is another training: its final loss must lie within what
other seeds give alone, or keep most of the way that the loss went down."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isclose, isfinite, isnan, nan

from tests.trials.digest import Run

WAY = 0.75  # of the loss's way down that a weak run has to go, too
CLOSE = 2e-2  # relative difference of weights: rounding, and a first step before the broadcast


def judge(alone: Sequence[Run], runs: Sequence[Run], game: bool = False) -> list[str]:
    """How distributed runs differ from the original, in words; nothing where they are alike.

    alone: the original, with several seeds, the first that of rank 0
    game: its losses are those of players against each other: they must stay of the same size, no more"""
    return [f"{run.size} ranks: {fault}" for run in runs for fault in _faults(alone, run, game)]


def scaling(alone: Run, run: Run) -> str:
    """ "weak", "strong" or what else the steps and rates became, a word an optimizer where they differ."""
    before, after = alone.ranks[0], run.ranks[0]
    found = []
    for steps, rate, last, its_steps, its_rate, its_last in zip(
        before.steps,
        before.first_rates,
        before.last_rates,
        after.steps,
        after.first_rates,
        after.last_rates,
        strict=False,
    ):
        fewer = abs(its_steps - steps / run.size) <= max(3, 0.3 * steps / run.size)  # rounded in each epoch
        same = abs(its_steps - steps) <= max(1, 0.02 * steps)
        ratio, last_ratio = _ratio(its_rate, rate), _ratio(its_last, last)
        if run.size == 1 and same and isclose(ratio, 1, rel_tol=1e-3):
            found.append("the same")
        elif fewer and isclose(ratio, run.size, rel_tol=0.02) and isclose(last_ratio, run.size, rel_tol=0.25):
            found.append("weak")
        elif same and isclose(ratio, 1, rel_tol=0.02) and isclose(last_ratio, 1, rel_tol=0.25):
            found.append("strong")
        else:
            found.append(f"steps {steps} → {its_steps}, rate × {ratio:.3g} (last × {last_ratio:.3g})")
    return " and ".join(dict.fromkeys(found)) or "no steps"


def final(run: Run) -> list[float]:
    """The final losses, a value a set of trained variables: the mean of the ranks."""
    return _over_ranks([rank.last for rank in run.ranks])


def _faults(alone: Sequence[Run], run: Run, game: bool) -> list[str]:
    if run.fault:
        return [f"{run.fault} ({run.where})"]
    original, first = alone[0], run.ranks[0]
    faults = []
    for number, rank in enumerate(run.ranks[1:], start=1):
        if any(_apart(a, b) > CLOSE for a, b in zip(first.weights, rank.weights, strict=False)):
            faults.append(f"rank {number} ends with other weights than rank 0")
            break
    if len(first.steps) != len(original.ranks[0].steps):
        faults.append(f"{len(first.steps)} optimizers step, not {len(original.ranks[0].steps)}")
    how = scaling(original, run)
    if how not in ("weak", "strong", "the same", "no steps"):
        faults.append(how)
    faults += _loss_faults(alone, run, how, game)
    faults += _row_faults(original, run, how)
    return faults + _file_faults(original, run) + _print_faults(original, run)


def _loss_faults(alone: Sequence[Run], run: Run, how: str, game: bool) -> list[str]:
    original = alone[0].ranks[0]
    faults = []
    for number, (start, its) in enumerate(zip(original.first, final(run), strict=False)):
        seen = [
            last[number]
            for last in (r.ranks[0].last for r in alone)
            if len(last) > number and isfinite(last[number])
        ]
        if not seen:
            continue
        if not isfinite(its):
            faults.append(f"the loss ends at {its}, alone at {seen[0]:.4g}")
            continue
        low, high = min(seen), max(seen)
        if game:
            if abs(its) > 5 * max(abs(low), abs(high), abs(start)):
                faults.append(f"the loss ends at {its:.4g}, alone at {seen[0]:.4g} (from {start:.4g})")
            continue
        band = max(high - low, 0.1 * abs(high), 1e-6)
        if its > high + band and (start <= high or (start - its) < WAY * (start - high)):
            faults.append(
                f"the loss ends at {its:.4g}, alone at {' '.join(f'{v:.4g}' for v in seen)} (from {start:.4g})"
            )
    if how in ("strong", "the same"):
        pairs = zip(original.weights, run.ranks[0].weights, strict=False)
        apart = max((_apart(a, b) for a, b in pairs), default=0)
        if apart > (CLOSE if how == "strong" else 1e-4):
            faults.append(f"weights end {apart:.2g} from the original's")
    return faults


def _row_faults(original: Run, run: Run, how: str) -> list[str]:
    alone, its = original.ranks[0].rows, [rank.rows for rank in run.ranks]
    if run.size == 1 or not alone or not sum(its):
        return []
    which = {rank.which for rank in run.ranks}
    ratio = sum(its) / alone
    whole = original.ranks[0].different * max(original.ranks[0].steps, default=0)
    if how == "weak" and len(which) == 1 and alone == whole:
        return ["all rows in each step, on every rank, but steps and rate as if they were batches"]
    if len(which) == 1 and isclose(ratio, run.size, rel_tol=0.1):
        # Right, if useless, where too few rows are there to be divided.
        return [] if how == "strong" else ["every rank is fed the same rows as one process"]
    few = max(original.ranks[0].steps, default=0) < 60  # what is left of a pass counts
    fits = 0.5 < ratio < 1.7 if few else 0.85 < ratio < 1.15
    return [] if fits else [f"all ranks together see {ratio:.2g} × the rows"]


def _file_faults(original: Run, run: Run) -> list[str]:
    together: Counter[str] = Counter()
    writers: dict[str, int] = {}
    for rank in run.ranks:
        written = _lasting(rank.times)
        together.update(written)
        for path in written:
            writers[path] = writers.get(path, 0) + 1
    faults = []
    alone = _lasting(original.ranks[0].times)
    for path, times in alone.items():
        now = together.get(path, 0)
        if abs(now - times) > max(1, 0.15 * times):
            faults.append(f"{path} is written {now} times, not {times}")
    faults += [f"{path} is written by {n} ranks" for path, n in writers.items() if n > 1]
    faults += [f"{path} is new" for path in together if path not in alone]
    return faults


def _lasting(times: Mapping[str, int]) -> dict[str, int]:
    """Without the files that are renamed once they are whole: their names are drawn."""
    return {path: count for path, count in times.items() if not re.search(r"\.tmp|tempstate|_temp/", path)}


def _print_faults(original: Run, run: Run) -> list[str]:
    alone, its = original.ranks[0].printed, [rank.printed for rank in run.ranks]
    steps, its_steps = (max(one.ranks[0].steps, default=0) for one in (original, run))
    with_each = 0.8 * steps < alone and 0.7 * its_steps < its[0]  # a line a step, and there are fewer steps
    faults = []
    if alone >= 4 and not with_each and not 0.7 <= its[0] / alone <= 1.4:
        faults.append(f"rank 0 prints {its[0]} lines, alone {alone}")
    if any(its[1:]):
        faults.append(f"other ranks print {max(its[1:])} lines")
    return faults


def _ratio(its: float, alone: float) -> float:
    if isnan(its) and isnan(alone):
        return 1.0 if isnan(alone) else nan
    return its / alone if alone else nan


def _apart(one: Sequence[float], other: Sequence[float]) -> float:
    """How far two vectors are apart, as a part of the length of the first."""
    if len(one) != len(other):
        return float("inf")
    length = sum(a * a for a in one) ** 0.5
    apart = sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
    return 0.0 if apart == 0 else apart / max(length, 1e-9)


def _over_ranks(values: Sequence[Sequence[float]]) -> list[float]:
    return [sum(column) / len(column) for column in zip(*values, strict=False)] if values else []
