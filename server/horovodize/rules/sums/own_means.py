"""Counts of steps in what a rank measures of its own, which are right as they are: `total / step`, a mean of however many. Part
of G5."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.decisions import Amount
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import counts_a_share


def divides(draft: Draft, read: ast.expr) -> bool:
    """Whether a count stands in a formula with a rank's share of something, and is right as it is: `step / len(own)`, or
    `total / step` of what a rank has added up of its own rows."""
    for a in draft.syntax.ancestors(read):
        if isinstance(a, ast.AugAssign):  # `total /= step`
            whole = a.target if isinstance(a.op, ast.Div) else None
            return isinstance(whole, (ast.Name, ast.Attribute)) and _is_of_own_rows(draft, whole)
        if isinstance(a, (ast.Subscript, ast.stmt)):
            return False
        if isinstance(a, ast.BinOp) and isinstance(a.op, ast.Div) and draft.syntax.inside(read, a.right):
            if draft.uniform.of_values.varies(a.left):
                return True
        others = (a.left, a.right) if isinstance(a, ast.BinOp) else ()
        if any(draft.was(o, Amount) or counts_a_share(draft, o) for o in others if o is not read):
            return True
    return False


def _is_of_own_rows(draft: Draft, total: ast.Name | ast.Attribute) -> bool:
    """Whether a rank has added up something of its own rows: `total += loss`."""
    bound = draft.values.bindings(total)
    added = [b.value for b in bound if b.kind == "augment" and b.value is not None]
    return any(draft.uniform.of_values.varies(value) for value in added)


__all__ = ["divides"]
