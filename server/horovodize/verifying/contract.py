"""What must hold on several ranks whatever is trained: the same collectives, weights, one writer a file, rates, rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose, isnan
from typing import Any

from horovodize.verifying.runs import Rank, Run
from horovodize.verifying.scalings import Scaling, Settled, drawn_length, span
from horovodize.verifying.tolerances import MONITORED, Passes, events, of_weights, spread


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `broken` and `notes` say what was found; with neither it holds.

    length    whether how much was trained is broken
    added_up  whether gradients are added up where they should be averaged, unless the losses were divided before"""

    name: str
    broken: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seen: bool = True
    length: bool = False
    added_up: bool = False

    @property
    def holds(self) -> bool:
        return not self.broken


def contract(
    alone: Sequence[Run], run: Run, scaled: Sequence[Scaling], sooner: bool, settled: Settled, shares: bool
) -> list[Check]:
    """All that is checked of a run that came to its end. `alone` has one run for each seed; `sooner`: it stopped sooner, being
    as good; `shares`: the loss of a rank is known to be its share of a mean."""
    first = alone[0]
    found = [
        _collectives(run),
        _weights(run),
        _rates(first, run, scaled, shares),
        _files(alone, run, settled.files),
    ]
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
        # A loop in a traced function is looked at when it ends, after many steps.
        each = [(a, b) for a, b in pairwise(optimizer["trace"][1:]) if b["iteration"] - a["iteration"] <= 1]
        later = [b["broadcasts"] - a["broadcasts"] for a, b in each]
        if len(later) >= 4 and sum(count > 0 for count in later) > 0.8 * len(later):
            broken.append(f"optimizer {number}: variables are broadcast with every step, not once")
        averages = [b["averages"] - a["averages"] for a, b in pairwise(optimizer["trace"][1:-1])]
        without = sum(not count for count in averages)
        if without and without < len(averages):
            broken.append(
                f"optimizer {number}: {without} of {len(averages)} steps apply gradients without averaging any"
            )
    broken += _decisions(run)
    return Check("equal weights on all ranks", tuple(broken[:3]))


def _decisions(run: Run) -> Iterator[str]:
    """Where callbacks look at values that differ, though they may have decided alike in this run."""
    first = run.ranks[0].report["decided"]
    for other in run.ranks[1:]:
        for (name, what, mine), (_, _, its) in zip(first, other.report["decided"], strict=False):
            if not isclose(mine, its, rel_tol=MONITORED, abs_tol=MONITORED) and not isnan(mine + its):
                yield f"{name} looks at {what}, which is {its:.6g} on rank {other.number}, {mine:.6g} on rank 0"
                break


def _differences(one: Rank, other: Rank) -> Iterator[str]:
    if len(one.optimizers) != len(other.optimizers):
        yield f"in how many optimizers step: {len(other.optimizers)}, not {len(one.optimizers)}"
        return
    for mine, its in zip(one.optimizers, other.optimizers, strict=True):
        early = list(zip(mine["early"], its["early"], strict=False))
        agreed = False
        for step, (a, b) in enumerate(early, start=1):
            apart = _apart(a, b, step, "trained", "optimizer")
            agreed = agreed or not apart
            if apart and (agreed or step == len(early) >= 3):
                yield f"after step {step}: {apart}"
        for a, b in zip(mine["later"], its["later"], strict=False):
            if a["step"] == b["step"] and (apart := _apart(a, b, a["step"], "trained", "optimizer")):
                yield f"after step {a['step']}: {apart}"
        # What is put right at the end, such as statistics, was not yet where the run was ended before.
        parts = ("trained", "optimizer") if one.report["stopped"] else ("trained", "optimizer", "others")
        if apart := _apart(mine["at_end"], its["at_end"], mine["steps"], *parts):
            yield f"at the end: {apart}"
    if not one.report["stopped"] and (
        apart := _apart(one.report, other.report, max(one.steps, default=0), "kept")
    ):
        yield f"at the end: {apart}"


def _apart(one: dict[str, Any], other: dict[str, Any], steps: int, *parts: str) -> str:
    for part in parts:
        if len(one[part]) != len(other[part]):
            return f"{len(other[part])} variables, not {len(one[part])}"
        for a, b in zip(one[part], other[part], strict=True):
            if a["shape"] != b["shape"]:
                return f"{a['name']} has shape {b['shape']}, not {a['shape']}"
            close = of_weights(max(map(abs, a["values"]), default=0.0), steps)
            if not all(_close(x, y, close) for x, y in zip(a["values"], b["values"], strict=True)):
                far = max(abs(x - y) for x, y in zip(a["values"], b["values"], strict=True))
                what = " (statistics that are not averaged)" if part == "others" else ""
                return f"{a['name']} by {far:.2g}{what}"
    return ""


def _close(one: float, other: float, off: float) -> bool:
    return one == other or abs(one - other) <= off or (isnan(one) and isnan(other))


def _rates(alone: Run, run: Run, scaled: Sequence[Scaling], shares: bool) -> Check:
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
    added_up = larger and not shares and run.size > 1 and run.ranks[0].report["sums"] >= max(1, steps)
    if added_up:
        broken.append("the gradients are added up, not averaged, and the rate is multiplied, too")
    length = any(one.length for one in scaled)
    return Check(name, tuple(broken), length=length, added_up=added_up)


def _files(alone: Sequence[Run], run: Run, settled: bool) -> Check:
    """settled: how often something is written doesn't follow from how well it trains."""
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
    had, _ = alone[0].ranks[0].written()
    others = [one.ranks[0].written()[0] for one in alone[1:]]
    steps = max(alone[0].ranks[0].steps, default=0)
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
            elif not any(path in fault for fault in broken):
                least, most = events(times, steps, run.size)
                told = f"{path} is written {has[path]} times, alone {times}"
                if not least <= has[path] <= most:
                    same = settled and all(other.get(path) == times for other in others)
                    (broken if same else notes).append(told)
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
    passes, first = Passes.of(alone[0].ranks[0]), run.ranks[0]
    # What is drawn with replacement, be it by a seed of the script's own, comes unequally often.
    # Another seed may leave out others of those that fill no batch.
    left = max((_missed(had, other.rows) * totals[0] for other in alone[1:]), default=0.0)
    fixed = passes.fixed and left < passes.number * passes.batch
    strong = any(one.kind == "strong" for one in scaled)
    slack = passes.slack(run.size, len(first.batches), divided=not strong) + (left if fixed else 0)
    everything = abs(has.total() - run.size * totals[0]) <= run.size * slack
    alike = len({tuple(sorted(rank.rows)) for rank in run.ranks}) == 1
    whole = len(had) == passes.batch and passes.batches > 1  # each step takes all rows
    if alike and whole and not strong:
        broken.append("every step sees all rows on every rank, but steps and rate are those of batches")
    elif not strong and (told := _repeated(alone[0], run)):
        broken.append(told)
    elif fixed and ratio > 1 and everything:
        told = f"every rank trains on all rows: together {ratio:.2g} times those alone"
        (notes if strong and whole else broken).append(told)
    elif not fixed and strong and everything:
        notes.append(f"every rank draws as many rows as one process: together {ratio:.2g} times those alone")
    elif ratio < 1 and sooner:
        notes.append(f"stops sooner, as good as alone: after {ratio:.2g} times the rows")
    elif not least - slack <= has.total() <= most + slack:
        broken.append(f"all ranks together train on {ratio:.2g} times the rows")
        length = True
    elif has.total() > 10 * sum(has[row] for row in had):
        notes.append(
            "the rows carry something that differs by rank, such as their numbers: only their count is compared"
        )
    elif _drawn_afresh(alone[0], run):
        notes.append("other ranks than 0 draw rows of their own: only their number is compared")
    elif fixed and (missed := _seldom(had, has)) * totals[0] > slack + max(0, has.total() - totals[0]):
        broken.append(f"{missed:.0%} of the rows are seen by no rank, or by fewer than others")
    if not broken and not strong and (told := _in_one_pass(alone[0], run)):
        broken.append(told)
    apart = float(len(first.batches)) if strong else 0.0  # a row of each step may be left over
    if max(counts) - min(counts) > max(apart, spread(first.batches, passes.rounds)):
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


def _in_one_pass(alone: Run, run: Run) -> str:
    """Whether ranks share rows within a pass in which each row comes once alone."""
    first, size = alone.ranks[0], run.size
    batches = first.first_pass // size
    if not batches or not first.batches:
        return ""
    begun = [rank.begin(min(batches, rank.first_pass)) for rank in run.ranks]
    taken = sum(map(len, begun))
    twice = taken - len(set().union(*begun))
    # Shares that are filled up to equally many hold a row of another's, or a batch, where these are dealt.
    if twice <= size - 1 + Passes.of(first).batch:
        return ""
    return f"ranks train on the same rows: {twice:,} of the {taken:,} that they begin with, alone each comes once in a pass"


def _drawn_afresh(alone: Run, run: Run) -> bool:
    """Whether rows are drawn without end by a seed of the script's own, to which ranks add theirs: no row comes twice, rank 0
    has those that come first alone, and each other rank has rows that neither it nor another had."""
    had, first = alone.rows, run.ranks[0].rows
    begin = set(list(had)[: len(first)])
    once = max(had.values()) == 1 == max(run.rows.values())
    goes_on = len(begin & first.keys()) >= 0.95 * len(first)
    return once and goes_on and not any(had.keys() & rank.rows.keys() for rank in run.ranks[1:])


def _missed(wanted: Counter[str], found: Counter[str]) -> float:
    """The part of the rows that come less often than they should, of as many rows."""
    total, its = wanted.total(), found.total()
    return sum(max(0.0, count / total - found[row] / its) for row, count in wanted.items()) if its else 1.0


def _seldom(wanted: Counter[str], found: Counter[str]) -> float:
    """The same for all ranks together. Which rows come once more than others, in a pass that ends before its last row, follows
    from the order in which ranks go through theirs."""
    missed = _missed(wanted, found)
    if not missed or found.keys() - wanted.keys() or max(wanted.values()) - min(wanted.values()) != 1:
        return missed
    had, has = (sorted(rows.values(), reverse=True) for rows in (wanted, found))
    has += [0] * (len(had) - len(has))
    total, its = sum(had), sum(has)
    return sum(max(0.0, one / total - other / its) for one, other in zip(had, has, strict=True))


def _output(alone: Run, run: Run) -> Check:
    """Notes only: what is printed may be anything."""
    said = alone.ranks[0].report["printed"]
    notes = [
        f"rank {r.number} prints, too: {r.report['printed']} lines"
        for r in run.ranks[1:]
        if r.report["printed"]
    ]
    its = run.ranks[0].report["printed"]
    steps, its_steps = (max(r.ranks[0].steps, default=0) for r in (alone, run))
    least, most = events(said, steps, run.size)
    # A few lines beside those that come with steps: at the beginning, at the end.
    each_step = steps <= said and its_steps <= its
    if not each_step and not least - 3 <= its <= most + 3 and not run.stopped:
        notes.append(f"rank 0 prints {its} lines, alone {said}")
    return Check("rank 0 alone speaks", notes=tuple(notes[:2]))
