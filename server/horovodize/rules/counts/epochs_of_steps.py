"""Epochs that a program counts from its steps, `step // steps_per_epoch`: part of G5.

A rank takes size() times fewer steps an epoch; divided by as many, the number of the epoch is what it was after as many rows:
`step // max(1, steps_per_epoch // hvd.size())`. So loops that end by it end, and what happens in an epoch happens in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.plan import Decision
from horovodize.rules.counts import thresholds
from horovodize.rules.drafting.decisions import OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, guarded

_WHAT = "Count the epochs by the steps of a rank"
_WHY = "Each rank takes size() times fewer steps an epoch: the next one begins after as many rows."
_WHOLE = {"int", "floor", "trunc"}


def divide(draft: Draft) -> set[ast.expr]:
    """Divides the steps of an epoch wherever they divide a count of steps; where that is: the numbers of epochs."""
    found = set[ast.expr]()
    divisions = list(_divisions(draft)) if draft.facts.counters.exist else []
    for epoch, count, steps in divisions:
        read = _read(draft, count)
        if read is None or not counted.is_whole(draft, steps) or _is_no_epoch(draft, epoch, read, steps):
            continue
        found.add(epoch)
        draft.decide(read, OfAll("G5"))  # the number of the epoch is that of all ranks
        edits = counted.over_ranks(draft, steps, "G5")
        draft.change("G5", steps, _WHAT, _WHY, edits, decision=Decision.DIVIDED)
    for epoch, count, steps in divisions:
        if _is_of_the_last(draft, epoch, count, found) and counted.is_whole(draft, steps):
            edits = counted.over_ranks(draft, steps, "G5")
            draft.change("G5", steps, _WHAT, _WHY, edits, decision=Decision.DIVIDED)
    return found


def _is_of_the_last(draft: Draft, epoch: ast.expr, count: ast.expr, found: set[ast.expr]) -> bool:
    """Whether an epoch is that of an earlier step, and compared with the one of this: `step // 20 > last // 20`."""
    around = draft.syntax.parent[epoch]
    if (
        epoch in found
        or not isinstance(around, ast.Compare)
        or not isinstance(count, (ast.Name, ast.Attribute))
    ):
        return False
    return thresholds.is_of_a_step(draft, count) and bool(found & {around.left, *around.comparators})


def _divisions(draft: Draft) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """(all of it, what is divided, by what) of `a // b`, `divmod(a, b)`, `int(a / b)`."""
    for e in draft.syntax.every(ast.BinOp):
        around = draft.syntax.parent.get(e)
        rounded = isinstance(around, ast.Call) and draft.names.last(around.func) in _WHOLE
        if isinstance(e.op, ast.FloorDiv) or (isinstance(e.op, ast.Div) and rounded):
            yield e, e.left, e.right
    for call in draft.syntax.calls:
        if isinstance(call.func, ast.Name) and call.func.id == "divmod" and len(call.args) == 2:
            yield call, call.args[0], call.args[1]


def _read(draft: Draft, count: ast.expr) -> ast.expr | None:
    """`step` of `step`, `step + 1`, where it counts a rank's steps."""
    near = isinstance(count, ast.BinOp) and isinstance(count.op, (ast.Add, ast.Sub))
    if near and isinstance(count, ast.BinOp) and isinstance(count.right, ast.Constant):
        count = count.left
    return count if counted.of(draft, count) is not None else None


def _is_no_epoch(draft: Draft, epoch: ast.expr, read: ast.expr, steps: ast.expr) -> bool:
    """Whether so few steps are counted together that it may be how updates go with each other; or it is the number of the batch
    that a row belongs to: `row // batch_size` of `for row in range(0, n, batch_size)`."""
    known = draft.facts.feeding.kinds.constant(steps)
    if known is not None and known <= guarded.FEW:
        return True
    if known is None and _chooses(draft, epoch):
        return True
    counter = counted.of(draft, read)
    if counter is not None and _are_rounds(draft, counter, steps):
        return True
    if counter is None or counter.kind is not CounterKind.TURN:
        return False
    strides = [
        d.iterable.args[2]
        for d in counter.drivers
        if isinstance(d.iterable, ast.Call) and len(d.iterable.args) == 3
    ]
    return any(ast.unparse(s) == ast.unparse(steps) for s in strides)


def _are_rounds(draft: Draft, counter: Counter, number: ast.expr) -> bool:
    """Whether a number is how many epochs there are, `range(number)` around the loops that count: what is divided by it is an
    epoch's number of steps, a rank's."""
    around = (loop for d in counter.drivers for loop in draft.syntax.loops(d.loop))
    ranges = (loop.iter for loop in around if isinstance(loop, (ast.For, ast.AsyncFor)))
    ends = (e.args[-1] for e in ranges if isinstance(e, ast.Call) and len(e.args) in (1, 2))
    return any(ast.unparse(end) == ast.unparse(number) for end in ends)


def _chooses(draft: Draft, epoch: ast.expr) -> bool:
    """Whether a test of it decides what a step trains."""
    statement = draft.syntax.statement(epoch)
    return (
        isinstance(statement, ast.If)
        and draft.syntax.inside(epoch, statement.test)
        and not isinstance(statement.body[-1], ast.Break)
        and guarded.trains(draft, statement.test)
    )


__all__ = ["divide"]
