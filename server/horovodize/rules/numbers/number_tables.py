"""Numbers that a program has computed for each of its steps, and a function looks up by a count that it is handed: part of G5.

`WEIGHTS = np.linspace(1.0, 0.1, 1000)` and `return WEIGHTS[step]`: a table for the steps of one process, no rows of data."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft

_MADE_BY_COUNT = frozenset("linspace geomspace logspace arange".split())
_JOINING = frozenset(
    "concatenate hstack append repeat cumsum cumprod exp log sqrt clip minimum maximum flip array asarray".split()
)
_FILLING = frozenset("ones zeros full".split())
_DEPTH = 5


def is_looked_up(draft: Draft, read: ast.expr) -> bool:
    """Whether a function that is handed a count takes the number of such a table that stands there."""
    bound = draft.module.scopes.reaching(read) if isinstance(read, ast.Name) else []
    if not bound or any(b.kind != "parameter" for b in bound):
        return False
    for a in draft.syntax.ancestors(read):
        if isinstance(a, ast.Subscript) and draft.syntax.inside(read, a.slice):
            return not isinstance(a.slice, (ast.Slice, ast.Tuple)) and _is_table(draft, a.value, _DEPTH)
        if isinstance(a, ast.stmt):
            break
    return False


def _is_table(draft: Draft, e: ast.expr, depth: int) -> bool:
    """Whether something is a row of numbers that are computed, at least some of them by their places."""
    found = draft.values.origins(e)
    nodes = [o.node for o in found if not o.path]
    return (
        bool(nodes)
        and len(nodes) == len(found)
        and depth > 0
        and all(_is_row(draft, n, depth) for n in nodes)
    )


def _is_row(draft: Draft, n: ast.AST, depth: int) -> bool:
    match n:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return bool(parts) and all(_is_number(p) for p in parts)
        case ast.ListComp(elt=elt, generators=[ast.comprehension(iter=ast.Call(func=func))]):
            return draft.names.last(func) == "range" and not any(
                isinstance(m, ast.Subscript) for m in ast.walk(elt)
            )
        case ast.BinOp(left=left, right=right):
            rows = [side for side in (left, right) if not _is_number(side)]
            return bool(rows) and all(_is_table(draft, side, depth - 1) for side in rows)
        case ast.Call(func=func, args=args) if (draft.names.of(func) or "").startswith("numpy."):
            last = draft.names.last(func)
            if last in _MADE_BY_COUNT:
                return True
            given = [p for a in args for p in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]
            rows = [a for a in given if not _is_number(a) and not _is_filled(draft, a)]
            computed = bool(rows) or all(_is_number(a) for a in given)
            return (
                last in _JOINING
                and bool(given)
                and computed
                and all(_is_table(draft, a, depth - 1) for a in rows)
            )
        case _:
            return False


def _is_filled(draft: Draft, e: ast.expr) -> bool:
    """Whether something is one number over and over: a part of a table, but none by itself, for a program that
    keeps such a row fills it."""
    return (
        isinstance(e, ast.Call)
        and (draft.names.of(e.func) or "").startswith("numpy.")
        and draft.names.last(e.func) in _FILLING
    )


def _is_number(e: ast.expr) -> bool:
    inner = e.operand if isinstance(e, ast.UnaryOp) else e
    return isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float))


__all__ = ["is_looked_up"]
