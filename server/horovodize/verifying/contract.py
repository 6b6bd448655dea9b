"""What must hold on several ranks whatever is trained: the same collectives, weights, one writer a file, rates, rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isclose, isnan
from typing import Any

from horovodize.verifying.amounts import as_much_is_written
from horovodize.verifying.averages import averages_forget
from horovodize.verifying.averaging import added_up
from horovodize.verifying.check import Check
from horovodize.verifying.rows import rows_are_divided
from horovodize.verifying.runs import Rank, Run
from horovodize.verifying.scalings import Scaling, Settled
from horovodize.verifying.tolerances import MONITORED, events, of_weights
from horovodize.verifying.validated import validates_on_the_same

_WHAT = {
    "others": " (statistics that are not averaged)",
    "looked_at": " (the loss depends on it, and this optimizer doesn't train it)",
}
_ROWS = re.compile(r"\[[^],]+")  # the first of a tensor's sizes


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
    rows = rows_are_divided(alone, run, scaled, sooner)
    found += [rows, *validates_on_the_same(alone, run)]
    if (averages := averages_forget(first, run, scaled)).seen:
        found.append(averages)
    return [*found, as_much_is_written(alone, run, settled.files), _output(first, run)]


def _collectives(run: Run) -> Check:
    name = "the same collectives in the same order"
    logs = [[comparable(*entry) for entry in rank.report["collectives"]] for rank in run.ranks]
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


def comparable(kind: str, what: str) -> tuple[str, str]:
    """A collective as all ranks run it: how many rows of its own each gathers, as of the gradients of an embedding, differs."""
    return kind, _ROWS.sub("[…", what) if "allgather" in kind or kind == "alltoall" else what


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
    """Where callbacks look at values that differ, or run on some ranks only, though they may have decided alike in this run."""
    first = run.ranks[0].report["decided"]
    for other in run.ranks[1:]:
        mine, its = ({name for name, *_ in decided} for decided in (first, other.report["decided"]))
        for name in (
            sorted(mine ^ its) if run.ranks[0].steps == other.steps else ()
        ):  # else, one trains another model, too
            one, none = (0, other.number) if name in mine else (other.number, 0)
            yield f"{name} runs on rank {one} and not on rank {none}"
        for (name, what, here), (_, _, there) in zip(first, other.report["decided"], strict=False):
            if mine != its:
                break
            if not isclose(here, there, rel_tol=MONITORED, abs_tol=MONITORED) and not isnan(here + there):
                yield f"{name} looks at {what}, which is {there:.6g} on rank {other.number}, {here:.6g} on rank 0"
                break


def _differences(one: Rank, other: Rank) -> Iterator[str]:
    if len(one.optimizers) != len(other.optimizers):
        yield f"in how many optimizers step: {len(other.optimizers)}, not {len(one.optimizers)}"
        return
    for mine, its in zip(one.optimizers, other.optimizers, strict=True):
        early = list(zip(mine["early"], its["early"], strict=False))
        for looked_at in (("trained", "optimizer"), ("looked_at",)):
            agreed = False
            for step, (a, b) in enumerate(early, start=1):
                apart = _apart(a, b, step, *looked_at)
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
        mine, its = one.get(part, []), other.get(part, [])
        if len(mine) != len(its):
            return f"{len(its)} variables, not {len(mine)}"
        for a, b in zip(mine, its, strict=True):
            if a["shape"] != b["shape"]:
                return f"{a['name']} has shape {b['shape']}, not {a['shape']}"
            close = of_weights(max(map(abs, a["values"]), default=0.0), steps)
            if not all(_close(x, y, close) for x, y in zip(a["values"], b["values"], strict=True)):
                far = max(abs(x - y) for x, y in zip(a["values"], b["values"], strict=True))
                what = _WHAT.get(part, "")
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
    larger = any(one.kind == "weak" and one.larger_rate for one in scaled)
    wrongly_added_up = larger and not shares and added_up(run)
    if wrongly_added_up:
        broken.append("the gradients are added up, not averaged, and the rate is multiplied, too")
    length = any(one.length for one in scaled)
    return Check(name, tuple(broken), length=length, added_up=wrongly_added_up)


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
