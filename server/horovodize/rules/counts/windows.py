"""Tests that hold for a part of each cycle of steps, `if step % 100 < 50:`: part of G5.

A rank takes every size()-th step of a cycle, so the test goes by the steps of all ranks, and holds for as large a part of them:
`step * hvd.size() % 100 < max(50, hvd.size())`. A part that is smaller than size() steps holds in one step of a rank: it would
be stepped over in most cycles."""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.rules.counts import thresholds
from horovodize.rules.drafting.decisions import Counted, OfAll
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.source import Edit, Span

ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_WIDE = 1024  # more ranks than that are hardly there
_MANY = 64
_STEPPED_OVER = "on more ranks than this part has steps, a rank may step over it: let it be wider then"


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


def among(
    draft: Draft,
    test: ast.expr,
    modulo: ast.expr,
    number: ast.expr,
    rests: ast.expr,
    operator: ast.cmpop,
    *,
    is_of_all: bool = False,
) -> bool:
    """Lets `step % 100 in (0, 50)` hold in the steps of a rank in which the steps of all come to one of them, and
    `step % 100 in range(10)` for as large a part. Whether it is such a test."""
    is_range = (
        isinstance(rests, ast.Call) and draft.names.last(rests.func) == "range" and len(rests.args) == 1
    )
    listed = isinstance(rests, (ast.Tuple, ast.List, ast.Set)) and all(map(_is_whole, rests.elts))
    if not (is_range or listed) or not isinstance(modulo, ast.BinOp) or not isinstance(test, ast.Compare):
        return False
    if not draft.decide(test, Counted("G5")):
        return True
    times = () if is_of_all else draft.times(number)
    draft.decide(number, OfAll("G5"))
    if isinstance(rests, ast.Call):
        edits = [*times, *Edit.around(draft.module.span(rests.args[0]), "max(", f", {SIZE})")]
    else:
        rest, span = draft.same_name("rest"), draft.module.span(rests)
        quantifier, holds = ("any", "<") if isinstance(operator, ast.In) else ("all", ">=")
        between = Span(draft.module.span(modulo).end, span.start)
        edits = [
            *Edit.around(draft.module.span(test), f"{quantifier}((", ")"),
            *times,
            Edit.insert(draft.module.span(number).end, f" - {rest})"),
            Edit(between, f" {holds} {SIZE} for {rest} in "),
        ]
    draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.COUNTED)
    return True


def between(draft: Draft, test: ast.Compare, number: ast.expr, doubt: str = "") -> None:
    """`10 < step % 100 < 20` → `10 < step * hvd.size() % 100 < 20`, asked about where ranks may step over that part."""
    known = [draft.facts.feeding.kinds.constant(e) for e in (test.left, test.comparators[-1])]
    first, last = known
    wide = first is not None and last is not None and abs(last - first) > _MANY
    if draft.decide(test, Counted("G5")):
        edits = draft.times(number)
        draft.decide(number, OfAll("G5"))
        doubt = doubt or ("" if wide else _STEPPED_OVER)
        draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, doubt, decision=Decision.COUNTED)


def _is_whole(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and type(e.value) is int


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


__all__ = ["ORDER", "among", "apply", "between"]
