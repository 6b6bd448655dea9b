"""Numbered turns that go on from what an earlier run has counted: part of G6.

`for i in range(start, n):` whose number selects the rows, and `for step, batch in enumerate(data, start):`, with a `start` that
is read from a file or the name of a checkpoint. Numbered by its own turns, a rank would keep how many it took, and the run that
goes on from it would take those steps again; so the number goes on by the steps of all ranks, and each rank takes the rows of
its own number of them:

`for i in range(start, n):`                  → `for i in range(start, n, hvd.size()):`
`x[i]`                                       → `x[min(i + hvd.rank(), n - 1)]`
`for step, batch in enumerate(data, start):` → `for step, batch in zip(itertools.count(start, hvd.size()), data):`
"""

from __future__ import annotations

import ast
import re

from horovodize.facts.counting.restored_numbers import RestoredNumbers
from horovodize.facts.counting.turn_uses import Uses
from horovodize.plan import Decision
from horovodize.python.syntax import argument, numbered
from horovodize.rules.drafting.decisions import OfAll, Shared, Strided
from horovodize.rules.drafting.draft import RANK, SIZE, Draft, needs_parentheses
from horovodize.rules.loops import moved_starts, own_numbers
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import WHY, feeding
from horovodize.rules.resuming import begun_within, resume
from horovodize.rules.resuming.restored_iterations import STORED
from horovodize.source import Edit, Span
from horovodize.source.edits import Move
from horovodize.summary.feeding import Driver

_WHAT = "Let each step count for those of all ranks"
_WHAT_DEALT = f"{_WHAT}, and give every rank its own batches"
_WHY = "A step takes size() batches; so counted, a later run goes on at the same row, whatever its number of ranks."


def is_restored(draft: Draft, start: ast.expr) -> bool:
    """Whether a number is what an earlier run has counted."""
    return RestoredNumbers(draft.module).is_restored(start)


def deal_out(
    draft: Draft,
    driver: Driver,
    numbers: ast.Call,
    variable: ast.Name,
    uses: Uses,
    of_a_rank: bool,
    rule: str,
) -> bool:
    """Divides a loop over `range(start, stop)`, by whose number rows are selected; whether that can be written.

    of_a_rank: whether the number that it goes on from counts a rank's steps: a graph's global step"""
    start, stop = numbers.args
    if draft.drive.in_traced(driver.loop) or not _can_be_read_again(stop):
        return False
    if (uses.made or uses.told) and not draft.can_insert(driver.loop.body[0]):
        return False
    if not draft.decide(numbers, Shared(rule)):
        return True
    draft.divided = True
    draft.decide(driver.loop, Strided(rule))
    is_next = resume.begins_after(draft, start)
    edits = [draft.add_argument(numbers, SIZE)]
    if of_a_rank:
        edits += draft.times(start)
        draft.note(rule, start, STORED)
        if not begun_within.begins(draft, start, stop):
            moved_starts.ask(draft, driver, start, rule, of_a_rank)
    else:
        resume.begin_after(draft, start)
        resume.count_on(draft, start, driver)
    # a turn has the number of the last of its steps, or that of the first
    before, after = (
        ("(", f" - {SIZE} + 1 + {RANK})") if is_next else ("min(", f" + {RANK}, {_last(draft, stop)})")
    )
    first = driver.loop.body[0]
    if (len(uses.selecting) > 1 or uses.made or uses.told) and draft.can_insert(first):
        own = own_numbers.name(draft, variable.id, variable)
        edits.append(draft.before(first, [f"{own} = {before}{variable.id}{after}"]))
        edits += own_numbers.give(draft, uses, variable.id, own, rule)
    else:
        for use in uses.selecting:
            draft.decide(use, OfAll(rule))
            edits += Edit.around(draft.module.span(use), before, after)
    draft.change(rule, numbers, _WHAT_DEALT, WHY, edits, decision=Decision.SHARED)
    return True


def _can_be_read_again(stop: ast.expr) -> bool:
    """Whether nothing happens where a number is read."""
    calls = [n for n in ast.walk(stop) if isinstance(n, ast.Call)]
    return all(isinstance(c.func, ast.Name) and c.func.id in ("len", "int", "min", "max") for c in calls)


def _last(draft: Draft, stop: ast.expr) -> str:
    """The last number below another, as text."""
    match stop:
        case ast.Constant(value=int(n)):
            return str(n - 1)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)):
            return draft.module.text(left)
    text = draft.module.text(stop)
    return f"({text}) - 1" if needs_parentheses(stop) else f"{text} - 1"


def _goes_on(draft: Draft, start: ast.expr) -> bool:
    """Whether a number stands for steps taken before: in a file or a checkpoint, or written out."""
    counters = draft.facts.counters
    return is_restored(draft, start) or counters.stored_in(start) is not None or counters.later.is_one(start)


def count_all(draft: Draft) -> None:
    """Lets what `enumerate` numbers on from a number of steps taken before count the steps of all ranks."""
    for driver in feeding(draft).drivers:
        loop = driver.loop
        call = feeding(draft).without_bars(loop.iter) if isinstance(loop, ast.For) else None
        data = numbered(call) if isinstance(call, ast.Call) else None
        if data is None or not isinstance(call, ast.Call):
            continue
        start = argument(call, "start", 1 if isinstance(call.func, ast.Name) else 0)
        if start is None or not counted.is_divided(draft, driver):
            continue
        if not _goes_on(draft, start):
            continue
        edits = _zipped(draft, call, data, start) if not draft.drive.in_traced(loop) else None
        if edits is None:
            draft.note("G6", start, STORED)
        elif draft.decide(loop, Strided("G6")):
            resume.begin_after(draft, start)
            draft.change("G6", call, _WHAT, _WHY, edits)


def _zipped(draft: Draft, call: ast.Call, data: ast.expr, start: ast.expr) -> list[Edit | Move] | None:
    """`enumerate(data, start)` → `zip(itertools.count(start, hvd.size()), data)`"""
    called, given, number = (draft.module.span(e) for e in (call.func, data, start))
    between = draft.document.text[given.end : number.start]
    if not isinstance(call.func, ast.Name) or not re.fullmatch(r"\s*,\s*(start\s*=\s*)?", between):
        return None
    opened = draft.document.text.index("(", called.end) + 1
    count = f"{draft.needed_module('itertools')}.count"
    return [
        Edit(called, "zip"),
        Move(number, opened, f"{count}(", f", {SIZE}), ", ""),
        Edit(Span(given.end, number.start), ""),
    ]


__all__ = ["count_all", "deal_out", "is_restored"]
