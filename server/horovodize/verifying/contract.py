"""What must hold on several ranks whatever is trained: the same collectives, weights, one writer a file, rates, rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose, isnan
from typing import Any

from horovodize.verifying.runs import Rank, Run
from horovodize.verifying.scalings import Scaling, drawn_length, span

TOLERANCE = 1e-5


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `broken` and `notes` say what was found; with neither it holds.

    length  whether how much was trained is broken"""

    name: str
    broken: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seen: bool = True
    length: bool = False

    @property
    def holds(self) -> bool:
        return not self.broken


def contract(alone: Sequence[Run], run: Run, scaled: Sequence[Scaling], sooner: bool) -> list[Check]:
    """All that is checked of a run that came to its end. `alone` has one run for each seed; `sooner`: it stopped sooner, being
    as good."""
    first = alone[0]
    found = [_collectives(run), _weights(run), _rates(first, run, scaled), _files(first, run)]
    return [*found, _rows(alone, run, scaled, sooner), _output(first, run)]


def _collectives(run: Run) -> Check:
    name = "the same collectives in the same order"
    logs = [[tuple(entry) for entry in rank.report["collectives"]] for rank in run.ranks]
    if not logs[0]:
        unseen = [why for why in run.ranks[0].report["unseen"] if why.startswith("collectives")]
        if unseen:
            return Check(name, seen=False, notes=tuple(unseen))
        return Check(name, ("no collective ran: the ranks train on their own",) if run.size > 1 else ())
    for rank, log in zip(run.ranks[1:], logs[1:], strict=True):
        if log != logs[0]:
            pairs = enumerate(zip(logs[0], log, strict=False))
            at = next((i for i, (one, other) in pairs if one != other), min(len(logs[0]), len(log)))
            mine, its = (_told(which[at : at + 1]) for which in (logs[0], log))
            return Check(name, (f"collective {at + 1}: rank 0 runs {mine}, rank {rank.number} {its}",))
    return Check(name)


def _told(entries: Sequence[tuple[Any, ...]]) -> str:
    return " of ".join(map(str, entries[0])) if entries else "nothing"


def _weights(run: Run) -> Check:
    """Equal on all ranks after the first steps (a broadcast may follow the first pass), every so many steps, and at the end."""
    first = run.ranks[0]
    broken = []
    for other in run.ranks[1:]:
        found = next(_differences(first, other), "")
        if found:
            broken.append(f"rank {other.number} differs from rank 0 {found}")
    for number, optimizer in enumerate(first.optimizers):
        counts = [point["broadcasts"] for point in optimizer["trace"][1:]]
        later = [b - a for a, b in pairwise(counts)]
        if len(later) >= 4 and sum(count > 0 for count in later) > 0.8 * len(later):
            broken.append(f"optimizer {number}: variables are broadcast with every step, not once")
    return Check("equal weights on all ranks", tuple(broken[:3]))


def _differences(one: Rank, other: Rank) -> Iterator[str]:
    if len(one.optimizers) != len(other.optimizers):
        yield f"in how many optimizers step: {len(other.optimizers)}, not {len(one.optimizers)}"
        return
    for mine, its in zip(one.optimizers, other.optimizers, strict=True):
        early = list(zip(mine["early"], its["early"], strict=False))
        agreed = False
        for step, (a, b) in enumerate(early, start=1):
            apart = _apart(a, b, "trained", "optimizer")
            agreed = agreed or not apart
            if apart and (agreed or step == len(early) >= 3):
                yield f"after step {step}: {apart}"
        for a, b in zip(mine["later"], its["later"], strict=False):
            if a["step"] == b["step"] and (apart := _apart(a, b, "trained", "optimizer")):
                yield f"after step {a['step']}: {apart}"
        # What is put right at the end, such as statistics, was not yet where the run was ended before.
        parts = ("trained", "optimizer") if one.report["stopped"] else ("trained", "optimizer", "others")
        if apart := _apart(mine["at_end"], its["at_end"], *parts):
            yield f"at the end: {apart}"
    if not one.report["stopped"] and (apart := _apart(one.report, other.report, "kept")):
        yield f"at the end: {apart}"


def _apart(one: dict[str, Any], other: dict[str, Any], *parts: str) -> str:
    for part in parts:
        if len(one[part]) != len(other[part]):
            return f"{len(other[part])} variables, not {len(one[part])}"
        for a, b in zip(one[part], other[part], strict=True):
            if a["shape"] != b["shape"]:
                return f"{a['name']} has shape {b['shape']}, not {a['shape']}"
            if not all(map(_close, a["values"], b["values"])):
                far = max(abs(x - y) for x, y in zip(a["values"], b["values"], strict=True))
                what = " (statistics that are not averaged)" if part == "others" else ""
                return f"{a['name']} by {far:.2g}{what}"
    return ""


def _close(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE) or (isnan(one) and isnan(other))


def _rates(alone: Run, run: Run, scaled: Sequence[Scaling]) -> Check:
    name = "steps and rates as they should be"
    broken = []
    had, has = len(alone.ranks[0].optimizers), len(run.ranks[0].optimizers)
    if had != has:
        broken.append(f"{has} optimizers step, alone {had}")
    if not had:
        return Check(name, tuple(broken), seen=False, notes=("no optimizer was seen to step",))
    for number, one in enumerate(scaled):
        which = f"optimizer {number}: " if len(scaled) > 1 else ""
        if one.fault:
            broken.append(which + one.fault)
    steps = sum(run.ranks[0].steps)
    larger = any(one.kind == "weak" and one.larger_rate for one in scaled)
    if run.size > 1 and larger and run.ranks[0].report["sums"] >= max(1, 0.9 * steps):
        broken.append("the gradients are added up, not averaged, and the rate is multiplied, too")
    return Check(name, tuple(broken), length=any(one.length for one in scaled))


def _files(alone: Run, run: Run) -> Check:
    broken: list[str] = []
    notes: list[str] = []
    for kind in ("files", "prefixes", "log_dirs"):
        writers: dict[str, list[int]] = {}
        for rank in run.ranks:
            for path in rank.report["files"].get(kind, ()):
                writers.setdefault(path, []).append(rank.number)
        broken += [
            f"{path} is written by ranks {', '.join(map(str, who))}"
            for path, who in writers.items()
            if len(who) > 1
        ]
    had, _ = alone.ranks[0].written()
    has: dict[str, int] = {}
    for rank in run.ranks:
        written, copies = rank.written(had)
        for path, times in written.items():
            has[path] = has.get(path, 0) + times
        if copies:
            notes.append(f"rank {rank.number} writes copies of its own: {min(copies)}")
    if not run.stopped:
        for path, times in had.items():
            if not has.get(path):
                broken.append(f"{path} is not written")
            elif abs(has[path] - times) > max(1, 0.15 * times) and not any(path in fault for fault in broken):
                notes.append(f"{path} is written {has[path]} times, alone {times}")
        broken += [f"{path} is written, alone it isn't" for path in has if path not in had]
    if unseen := run.written_unseen():
        more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
        notes.append(f"{unseen[0]}{more}: written by another program, so by how many ranks isn't seen")
    return Check("one writer a file", tuple(broken), tuple(notes))


def _rows(alone: Sequence[Run], run: Run, scaled: Sequence[Scaling], sooner: bool) -> Check:
    name = "the rows are divided"
    had, has = alone[0].rows, run.rows
    if run.size == 1 or run.stopped:
        return Check(name, seen=run.size == 1)
    if not had or not has:
        return Check(name, seen=False, notes=("the rows of a step can't be seen in this script",))
    broken: list[str] = []
    notes: list[str] = []
    totals = [r.rows.total() for r in alone]
    ratio = has.total() / totals[0]
    by_chance = drawn_length(alone)
    least, most = span(totals, by_chance)
    length = False
    counts = [rank.rows.total() for rank in run.ranks]
    batch = max(alone[0].ranks[0].batches)
    slack = run.size * batch / totals[0] + 0.1
    drawn = max((_missed(had, other.rows) for other in alone[1:]), default=0.0)
    # What is drawn with replacement, be it by a seed of the script's own, comes unequally often.
    fixed = drawn < 0.05 and max(had.values()) - min(had.values()) <= 1
    strong = any(one.kind == "strong" for one in scaled)
    alike = len({tuple(sorted(rank.rows)) for rank in run.ranks}) == 1
    whole = len(had) == batch and len(alone[0].ranks[0].batches) > 1  # each step takes all rows
    if alike and whole and not strong:
        broken.append("every step sees all rows on every rank, but steps and rate are those of batches")
    elif not strong and (told := _repeated(alone[0], run)):
        broken.append(told)
    elif fixed and ratio > 1 + slack and isclose(ratio, run.size, rel_tol=0.15):
        told = f"every rank trains on all rows: together {ratio:.2g} times those alone"
        (notes if strong and whole else broken).append(told)
    elif not fixed and strong and isclose(ratio, run.size, rel_tol=0.15):
        notes.append(f"every rank draws as many rows as one process: together {ratio:.2g} times those alone")
    elif ratio < 1 and sooner:
        notes.append(f"stops sooner, as good as alone: after {ratio:.2g} times the rows")
    elif not least / totals[0] - slack - 0.05 <= ratio <= most / totals[0] + slack + 0.05:
        broken.append(f"all ranks together train on {ratio:.2g} times the rows")
        length = True
    elif has.total() > 10 * sum(has[row] for row in had):
        notes.append(
            "the rows carry something that differs by rank, such as their numbers: only their count is compared"
        )
    elif _drawn_afresh(alone[0], run):
        notes.append("other ranks than 0 draw rows of their own: only their number is compared")
    elif fixed and (missed := _missed(had, has)) > slack:
        broken.append(f"{missed:.0%} of the rows are seen by no rank, or by fewer than others")
    odd = len(run.ranks[0].batches) if strong else 0  # all rows in every step may leave a row over
    if max(counts) - min(counts) > max(batch, odd, 0.1 * max(counts)):
        broken.append(f"the ranks train on different numbers of rows: {', '.join(map(str, counts))}")
    if by_chance:
        seen = ", ".join(map(str, sorted(set(totals))))
        notes.append(
            f"how long it trains differs by seed ({seen} rows alone, here {has.total()}): compared roughly"
        )
    return Check(name, tuple(broken), tuple(notes), length=length)


def _repeated(alone: Run, run: Run) -> str:
    """Whether ranks train on batches that another rank has, too, so that they see fewer different ones than one process."""
    had, marks = alone.ranks[0].marks, [rank.marks for rank in run.ranks]
    has = [mark for own in marks for mark in own]
    if not had or not has:
        return ""
    ranks = Counter(mark for own in marks for mark in set(own))
    common = sum(ranks[mark] > 1 for mark in has) / len(has)
    fewer = len(ranks) / len(has) < 0.75 * len(set(had)) / len(had)
    told = f"{len(ranks):,} different ones of {len(has):,}, alone {len(set(had)):,} of {len(had):,}"
    return f"ranks train on the same batches: {told}" if fewer and common > 0.5 else ""


def _drawn_afresh(alone: Run, run: Run) -> bool:
    """Whether rows are drawn without end by a seed of the script's own, to which ranks add theirs: no row comes twice, rank 0
    has those that come first alone, and each other rank has rows that neither it nor another had."""
    had, first = alone.rows, run.ranks[0].rows
    begin = set(list(had)[: len(first)])
    once = max(had.values()) == 1 == max(run.rows.values())
    goes_on = len(begin & first.keys()) >= 0.95 * len(first)
    return once and goes_on and not any(had.keys() & rank.rows.keys() for rank in run.ranks[1:])


def _missed(wanted: Any, found: Any) -> float:
    """The part of the rows that come less often than they should, of as many rows."""
    total, its = wanted.total(), found.total()
    return sum(max(0.0, count / total - found[row] / its) for row, count in wanted.items()) if its else 1.0


def _output(alone: Run, run: Run) -> Check:
    said = alone.ranks[0].report["printed"]
    notes = [
        f"rank {r.number} prints, too: {r.report['printed']} lines"
        for r in run.ranks[1:]
        if r.report["printed"]
    ]
    its = run.ranks[0].report["printed"]
    steps, its_steps = (max(r.ranks[0].steps, default=0) for r in (alone, run))
    each_step = 0.8 * steps < said and 0.7 * its_steps < its
    if said >= 4 and not each_step and not 0.7 <= its / said <= 1.4 and not run.stopped:
        notes.append(f"rank 0 prints {its} lines, alone {said}")
    return Check("rank 0 alone speaks", notes=tuple(notes[:2]))
