"""What of an expression is not the same on every rank: `n` of `range(2 * n)`. Part of G4."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.rules.drafting.draft import Draft


def behind_range(draft: Draft, e: ast.expr, reasons: Sequence[Varies | Unknown]) -> list[ast.expr]:
    """What varies in `range(n)` where a name stands for it, or for a bar that goes through it, `bar = tqdm(range(n))`: that is
    no value which can be sent. Else the expression itself."""
    if not isinstance(e, (ast.Name, ast.Attribute)) or not draft.facts.feeding.kinds.is_range(e):
        return [e]
    todo: list[ast.AST] = [o.node for o in draft.values.origins(e)]
    found = list[ast.expr]()
    while todo:
        n = todo.pop()
        if isinstance(n, ast.Call) and draft.facts.feeding.kinds.is_range(n):
            todo += n.args
        elif isinstance(n, ast.expr):
            found += varying_parts(draft, n, reasons)
    return found


def varying_parts(draft: Draft, e: ast.expr, reasons: Sequence[Varies | Unknown]) -> list[ast.expr]:
    """The outermost names, attributes and calls of an expression that vary, or aren't seen, for some reasons."""
    wanted, found, todo = set[Varies | Unknown](reasons), list[ast.expr](), [e]
    while todo:
        n = todo.pop()
        if not wanted.intersection(draft.uniform.reasons(n)):
            continue
        counts = isinstance(n, ast.Call) and draft.names.last(n.func) in (
            "range",
            "trange",
            "tqdm",
            "enumerate",
            "zip",
            "min",
            "max",
        )
        if isinstance(n, (ast.Name, ast.Attribute)) or (isinstance(n, ast.Call) and not counts):
            found.append(n)
        else:
            todo += [c for c in ast.iter_child_nodes(n) if isinstance(c, ast.expr)]
    return found
