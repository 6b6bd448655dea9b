"""Updates that come once in so many steps of an epoch which counts from its start: part of G5.

`for n, batch in enumerate(batches, 1):` and `if n % 10 == 0: replay()`: as many updates still go with each other on several
ranks, but an epoch of 30 batches has 7 on each of four ranks, and never comes to the tenth. That is said."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.python.syntax import argument, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.summary.feeding import Driver


def may_never_come(draft: Draft, test: ast.expr, number: ast.expr, counter: Counter, later: bool) -> bool:
    """Whether a count that begins again in each epoch comes to a turn only after others: `(i + 1) % 4 == 0`.

    number: what is divided, of which `counter` is the count
    later:  whether the remainder that is asked for is no zero"""
    if not any(counted.is_divided(draft, d) and _is_repeated(draft, d.loop) for d in counter.drivers):
        return False
    later |= isinstance(number, ast.BinOp) or _is_left_out(draft, test, number)
    if counter.kind is CounterKind.TURN:
        return later or any(_begins_later(draft, d) for d in counter.drivers)
    if not counter.advances or counter.stored:
        return False
    counted_before = any(_stands_before(draft, a, test) for a in counter.advances)
    begins = [draft.syntax.statement(s) for s in counter.starts]
    again = [s for s in begins if _is_repeated(draft, s) and not _is_driven(draft, s, counter)]
    return bool(again) and (later or counted_before)


def _is_repeated(draft: Draft, place: ast.AST) -> bool:
    """Whether a loop is around a place, also around the calls that lead there."""
    around = (frame.loops for way in draft.drive.ways(place) for frame in way)
    return any(loop is not place for loops in around for loop in loops)


def _is_driven(draft: Draft, statement: ast.AST, counter: Counter) -> bool:
    return any(draft.syntax.inside(statement, d.loop) for d in counter.drivers)


def _is_left_out(draft: Draft, test: ast.expr, number: ast.expr) -> bool:
    """Whether the first turn is left out by a test of its own: `if n and n % 10 == 0:`, `n > 0 and n % 10 == 0`."""
    joined = draft.syntax.parent.get(test)
    if not isinstance(joined, ast.BoolOp) or not isinstance(joined.op, ast.And):
        return False
    text = ast.unparse(number)
    return any(
        ast.unparse(v.left if isinstance(v, ast.Compare) else v) == text
        for v in joined.values
        if v is not test
    )


def _begins_later(draft: Draft, driver: Driver) -> bool:
    """Whether turns are not counted from 0: `enumerate(batches, 1)`, `batches.enumerate(start=1)`, `range(1, n)`."""
    e = driver.loop.iter if isinstance(driver.loop, ast.For) else None
    if not isinstance(e, ast.Call):
        return False
    name = draft.names.last(e.func)
    if name == "enumerate":
        start = argument(e, "start", 0 if isinstance(e.func, ast.Attribute) else 1)
    elif name == "range" and len(e.args) == 2:
        start = e.args[0]
    else:
        return False
    return start is not None and draft.facts.feeding.kinds.constant(start) != 0


def _stands_before(draft: Draft, advance: ast.AST, test: ast.expr) -> bool:
    """Whether a count goes on before a test in the same turn."""
    syntax = draft.syntax
    same = syntax.function(advance) is syntax.function(test)
    return same and isinstance(advance, (ast.expr, ast.stmt)) and position(advance) < position(test)


__all__ = ["may_never_come"]
