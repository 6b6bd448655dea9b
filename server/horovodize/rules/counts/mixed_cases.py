"""Numbers of steps that are set in one case, and the length of a rank's own data in another: part of G5 and G6.

    total = args.steps if args.steps > 0 else epochs * len(train)

The length is that of a rank's share and the number is in steps of one process. Where a count of steps is compared with it, or
divided by it, it is a rank's in both cases: `max(1, args.steps // hvd.size()) if args.steps > 0 else epochs * len(train)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.rules.drafting.decisions import Divided, OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import counts_a_share, feeding

_WHAT = "Divide the number of steps that is set"
_WHY = "In the other case it is the length of a rank's share; a rank takes 1/size() of the steps in both."
_NUMBERS = (ast.Name, ast.Attribute, ast.Constant)
_DEPTH = 6


def divide(draft: Draft, rule: str) -> None:
    """Makes such numbers a rank's, where they are set."""
    for number in _beside_counts(draft):
        if not counts_a_share(draft, number):
            continue
        for case in _cases(draft, number, _DEPTH):
            if draft.was(case, Divided, OfAll) or not _is_number(draft, case):
                continue
            edits = counted.over_ranks(draft, case, rule)
            draft.change(rule, case, _WHAT, _WHY, edits, decision=Decision.DIVIDED)


def are_settled(draft: Draft, number: ast.expr) -> bool:
    """Whether a number is a rank's in all cases."""
    return all(draft.was(case, Divided) or not _may_count(case) for case in _cases(draft, number, _DEPTH))


def _beside_counts(draft: Draft) -> Iterator[ast.expr]:
    """What counts of steps are compared with, or divided by, and what loops that are divided go up to."""
    for n in draft.syntax.every(ast.Compare, ast.BinOp) if draft.facts.counters.exist else ():
        sides = [n.left, *n.comparators] if isinstance(n, ast.Compare) else []
        if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Div, ast.FloorDiv)):
            sides = [n.left, n.right]
        if any(_counts(draft, side) for side in sides):
            yield from (side for side in sides[-1:] if isinstance(n, ast.BinOp))
            yield from (side for side in sides if isinstance(n, ast.Compare))
    for driver in feeding(draft).drivers:
        e = driver.iterable
        if (
            isinstance(e, ast.Call)
            and draft.names.last(e.func) == "range"
            and counted.is_divided(draft, driver)
        ):
            yield from e.args[-2:]


def _counts(draft: Draft, e: ast.expr) -> bool:
    return counted.of(draft, e) is not None or counted.all_of(draft, e) is not None


def _cases(draft: Draft, e: ast.expr, depth: int) -> Iterator[ast.expr]:
    """What a number is in the cases in which it is no length of a rank's share."""
    if not depth or not counts_a_share(draft, e):
        yield e
        return
    match e:
        case ast.IfExp(body=body, orelse=other):
            cases = [body, other]
        case ast.BoolOp(op=ast.Or(), values=values):
            cases = values
        case ast.Name() | ast.Attribute():
            bound = draft.values.bindings(e)
            given = [draft.values.passed(b) if b.kind == "parameter" else [b.value] for b in bound]
            if any(b.kind not in ("assign", "parameter") or b.path for b in bound):
                return
            cases = [value for values in given for value in values if value is not None]
        case _:
            return
    for case in cases:
        yield from _cases(draft, case, depth - 1)


def _may_count(case: ast.expr) -> bool:
    """Not what stands for none: `0`, `None`, `-1`."""
    return not isinstance(case, ast.UnaryOp) and not (isinstance(case, ast.Constant) and not case.value)


def _is_number(draft: Draft, case: ast.expr) -> bool:
    """Whether something is set, and counts nothing itself."""
    is_set = isinstance(case, _NUMBERS) and _may_count(case) and not _counts(draft, case)
    return is_set and counted.is_whole(draft, case)


__all__ = ["are_settled", "divide"]
