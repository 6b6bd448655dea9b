"""Numbers beside the length of a rank's own data in a sum, `epochs * len(train) - warmup`: part of C4 and G5.

The length is that of a rank's share and the number is in steps of one process: of many ranks the sum would come out far too
small, or below zero. The number is divided: `epochs * len(train) - warmup // hvd.size()`."""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.rules.drafting.decisions import Divided, OfAll
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import counts_a_share

_WHAT = "Divide what is set off against a rank's own steps"
_WHY = "The length is that of a rank's share; the number is in steps of one process."
_SUMS = (ast.Add, ast.Sub)
_PRODUCTS = (ast.Mult, ast.Div, ast.FloorDiv)
_SAME = {"float", "int", "round", "ceil", "floor", "cast", "float32", "float64", "int32", "int64"}
_SAME |= {"min", "max", "minimum", "maximum"}
_DEPTH = 8


def divide(draft: Draft, number: ast.expr, rule: str, depth: int = _DEPTH) -> None:
    """Makes a number that counts a rank's share do so in all of its terms, where they are made."""
    told = any(draft.was(n, OfAll) for n in draft.values.depends([number], 200))  # those of all ranks by now
    if not depth or told or not counts_a_share(draft, number):
        return
    for term in _terms(draft, number):
        divide(draft, term, rule, depth - 1)
    if not isinstance(number, ast.BinOp) or not isinstance(number.op, _SUMS):
        return
    for term in (number.left, number.right):
        if not counts_a_share(draft, term) and _is_of_steps(draft, term):
            if draft.decide(term, Divided(rule)):
                edits = draft.times(term, SIZE, "//")
                draft.change(rule, term, _WHAT, _WHY, edits, decision=Decision.DIVIDED)


def _terms(draft: Draft, number: ast.expr) -> list[ast.expr]:
    """What a number is made of that is in steps, too."""
    match number:
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, (*_SUMS, ast.Mult)):
            return [left, right]
        case ast.BinOp(left=left, op=op) if isinstance(op, _PRODUCTS):
            return [left]
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case ast.Call(args=args) if draft.names.last(number.func) in _SAME:
            return list(args)
        case ast.Name() | ast.Attribute():
            return [
                o.node for o in draft.values.origins(number) if isinstance(o.node, ast.expr) and not o.path
            ]
    return []


def _is_of_steps(draft: Draft, term: ast.expr) -> bool:
    """Whether a number is set, and neither counts anything nor is divided: `warmup`, but not the `1` of `steps - 1`."""
    if ast.unparse(term) in _sizes_of_batches(draft):
        return False  # rows of one rank's batch: `len(x) - batch`
    known = draft.facts.feeding.kinds.constant(term)
    if known is not None:
        return known > 1 and counted.is_whole(draft, term)
    parts = [n for n in draft.values.depends([term], 100) if isinstance(n, ast.expr)]
    counts = any(counted.of(draft, n) is not None or counted.all_of(draft, n) is not None for n in parts)
    small = isinstance(term, ast.Constant)  # 1e-8
    return not counts and not small and counted.is_whole(draft, term)


def _sizes_of_batches(draft: Draft) -> set[str]:
    """What data are batched by, divided by, or gone through by, as text."""
    found = list[ast.expr | None]()
    for n in (*draft.syntax.every(ast.Call, ast.BinOp, ast.AugAssign), *draft.syntax.every(ast.keyword)):
        match n:
            case ast.Call(func=ast.Attribute(attr="batch" | "padded_batch"), args=[size, *_]):
                found.append(size)
            case ast.Call(args=[_, _, step]) if draft.names.last(n.func) in ("range", "arange"):
                found.append(step)
            case ast.keyword(arg="batch_size", value=value):
                found.append(value)
            case ast.BinOp(left=rows, op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=by) if _is_length(
                rows
            ):
                found.append(by)
            case ast.AugAssign(value=value):
                found.append(value)
    return {ast.unparse(e) for e in found if e is not None}


def _is_length(e: ast.expr) -> bool:
    """`len(x)`, `x.shape[0]`"""
    measured = e.value if isinstance(e, ast.Subscript) else e.func if isinstance(e, ast.Call) else e
    return (isinstance(measured, ast.Name) and measured.id == "len") or (
        isinstance(measured, ast.Attribute) and measured.attr in ("shape", "size")
    )


__all__ = ["divide"]
