"""Tests that hold for a part of each cycle of steps, `if step % 100 < 50:`: part of G5.

A rank takes every size()-th step of a cycle, so the test goes by the steps of all ranks, and holds for as large a part of them:
`step * hvd.size() % 100 < max(50, hvd.size())`. A part that is smaller than size() steps holds in one step of a rank: it would
be stepped over in most cycles."""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.rules import thresholds
from horovodize.rules.decisions import Counted, OfAll
from horovodize.rules.draft import SIZE, Draft, needs_parentheses
from horovodize.source import Edit

ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_WIDE = 1024  # more ranks than that are hardly there


def apply(
    draft: Draft,
    test: ast.expr,
    number: ast.expr,
    divisor: ast.expr,
    rest: ast.expr,
    operator: ast.cmpop,
    *,
    is_of_all: bool = False,
    doubt: str = "",
) -> None:
    """number, divisor: `step` and `M` of `step % M`
    rest:      what that is compared with
    operator:  how, with the rest on the right
    is_of_all: that the number counts the steps of all ranks already"""
    if not draft.decide(test, Counted("G5")):
        return
    edits = () if is_of_all else draft.times(number)
    draft.decide(number, OfAll("G5"))
    if not _is_wide(draft, divisor, rest, operator):
        text = draft.module.text(rest)
        end = _beside(draft.module.text(divisor), needs_parentheses(divisor), operator)
        edits = (
            *edits,
            Edit(draft.module.span(rest), f"{'max' if _is_low(operator) else 'min'}({text}, {end})"),
        )
    if edits:
        draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, doubt, decision=Decision.COUNTED)


def flipped(operator: ast.cmpop) -> ast.cmpop:
    """How the right side compares with the left: `50 > step % 100`"""
    to = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
    return to[type(operator)]() if type(operator) in to else operator


def _is_low(operator: ast.cmpop) -> bool:
    return isinstance(operator, (ast.Lt, ast.LtE))


def _beside(divisor: str, enclosed: bool, operator: ast.cmpop) -> str:
    """Where a part of one step of each rank begins or ends."""
    cycle = f"({divisor})" if enclosed else divisor
    match operator:
        case ast.Lt():
            return SIZE
        case ast.LtE():
            return f"{SIZE} - 1"
        case ast.GtE():
            return f"{cycle} - {SIZE}"
        case _:
            return f"{cycle} - {SIZE} - 1"


def _is_wide(draft: Draft, divisor: ast.expr, rest: ast.expr, operator: ast.cmpop) -> bool:
    """Whether the part is of so many steps that no number of ranks steps over it."""
    known = draft.facts.feeding.kinds.constant
    bound, cycle = known(rest), known(divisor)
    if bound is None or (cycle is None and not _is_low(operator)):
        return False
    return (bound if _is_low(operator) else (cycle or 0) - bound) >= _WIDE


__all__ = ["ORDER", "apply", "flipped"]
