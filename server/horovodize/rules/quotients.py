"""Numbers of steps that are no whole ones: `if batches >= len(x) / 32: break` ends with the next step, never before."""

from __future__ import annotations

import ast

from horovodize.rules.draft import SIZE, Draft
from horovodize.source import Edit

_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def over_ranks(draft: Draft, count: ast.expr) -> tuple[Edit, ...] | None:
    """`len(x) / 32` → `len(x) / 32 / hvd.size()` where steps are compared with it; None for all other numbers.

    7.5 batches alone are eight steps, on two ranks four each; half of them rounded down would be three."""
    compared = draft.syntax.parent.get(count)
    if not isinstance(compared, ast.Compare) or not all(isinstance(op, _ORDERED) for op in compared.ops):
        return None
    made = [o.node for o in draft.values.origins(count)]
    if not made or not all(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in made):
        return None
    if not isinstance(count, (ast.BinOp, ast.Name, ast.Attribute)):
        return None
    return Edit.around(draft.module.span(count), "", f" / {SIZE}")


__all__ = ["over_ranks"]
