"""Which parts of a measured number are averaged over the ranks: `math.sqrt(total / n)` is the root of a mean, and
`2 * hits / (hits + found)` a quotient of two. Part of G4.

One process takes the root of the mean over all rows. The mean of the ranks' roots is another number; the root of their mean is
that one, and so is the quotient of the means of two counts."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import differing

_BENT = frozenset("sqrt exp exp2 expm1 log log2 log10 log1p square pow power".split())
_CONVERTING = frozenset("float float32 float64 asarray array numpy item".split())


def averaged_parts(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """What is averaged of a number that each rank measures: what the innermost function that bends it is given (`sqrt`, `exp`,
    `log`, a power), and both sides of a quotient, as far as nothing else in it is a rank's own; else the whole."""
    return _bent(draft, e) or [e]


def _bent(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """The parts with which a number bends; none where it goes straight with the whole, or that can't be said."""
    match e:
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            return _bent(draft, inner)
        case ast.BinOp(op=ast.Pow(), left=inner, right=power) if not differing(draft, power):
            return averaged_parts(draft, inner)
        case ast.BinOp(op=ast.Div(), left=left, right=right) if _is_measured(draft, right):
            return [p for side in _own(draft, left, right) for p in averaged_parts(draft, side)]
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), left=left, right=right):
            own = _own(draft, left, right)
            is_quotient = isinstance(e.op, ast.Div)
            return _bent(draft, left if is_quotient else own[0]) if is_quotient or len(own) == 1 else []
        case ast.Call(func=func, args=[inner, *more], keywords=[]) if _is_of(draft, func, _BENT):
            stays = not _own(draft, *more) and _is_tensor_alike(draft, func, inner)
            return averaged_parts(draft, inner) if stays else []
        case ast.Call(func=func, args=[inner], keywords=[]) if _is_of(draft, func, _CONVERTING):
            return _bent(draft, inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="numpy" | "item"), args=[], keywords=[]):
            return _bent(draft, inner)
        case _:
            return []


def _is_measured(draft: Draft, below: ast.expr) -> bool:
    """Whether a number that another one is divided by is a rank's own, and not how many rows or steps there were: of these all
    ranks have equally many, and the mean of the quotients is the quotient."""
    counted = {
        n for c in ast.walk(below) if isinstance(c, ast.Call) for n in ast.walk(c) if _is_length(draft, c)
    }
    numbers = (n for n in ast.walk(below) if isinstance(n, (ast.Name, ast.Attribute)) and n not in counted)
    read = [n for n in numbers if differing(draft, n)]
    return bool(read) and not all(draft.facts.counters.of(n) for n in read)


def _is_length(draft: Draft, call: ast.Call) -> bool:
    return draft.names.last(call.func) in ("len", "size", "cardinality")


def _own(draft: Draft, *parts: ast.expr) -> list[ast.expr]:
    return [part for part in parts if differing(draft, part)]


def _is_tensor_alike(draft: Draft, func: ast.expr, inner: ast.expr) -> bool:
    """Whether a function is given what it was given before: one of TensorFlow's makes a tensor of another type of a number
    that has been averaged, and the same of a tensor."""
    if not (draft.names.of(func) or "").startswith("tensorflow."):
        return True
    made = draft.names.of(inner.func) or "" if isinstance(inner, ast.Call) else ""
    return made.startswith("tensorflow.") or made.endswith(".result")


def _is_of(draft: Draft, func: ast.expr, names: frozenset[str]) -> bool:
    """Whether a function is Python's own, or of a library of numbers, by one of some names."""
    name = draft.names.of(func) or ""
    known = draft.module.scopes.is_builtin(func) or name.startswith(("math.", "numpy.", "tensorflow."))
    return known and draft.names.last(func) in names


__all__ = ["averaged_parts"]
