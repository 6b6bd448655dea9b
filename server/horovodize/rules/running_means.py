"""Means that a program keeps of the rows it has seen, and trains with: `mean += (row - mean) / n`. Part of G5.

A count that a sum is divided by is how much was added up, by this rank; it is told nothing of the others' steps. What is kept
so is of a rank's own rows, and another on each rank.
"""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft

_WHAT = "Keep the mean of what each rank has seen"
_WHY = "Ranks that each see a part of the rows each have a mean of their own."
_ASKED = (
    "this mean is of what a rank has seen itself, so it is another one on each rank: right if that may be, else compute it of "
    "all rows before training"
)


def around(draft: Draft, read: ast.expr) -> ast.BinOp | None:
    """The quotient by which a mean is kept or taken, where a count is what it is divided by; None for other formulas."""
    child: ast.AST = read
    for a in draft.syntax.ancestors(read):
        if isinstance(a, ast.stmt):
            return None
        if isinstance(a, ast.BinOp) and isinstance(a.op, ast.Div) and child is a.right:
            return a if _is_added_up(draft, a.left) or _moves_what_is_kept(draft, a) else None
        child = a
    return None


def ask(draft: Draft, mean: ast.BinOp, rule: str) -> None:
    """Asks whether the mean of a rank's rows will do, once."""
    if draft.once("running mean", draft.module.tree):
        draft.ask(rule, mean, _WHAT, _WHY, _ASKED)


def _is_added_up(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is a name for what is added up: `total`, `self.m2`."""
    if isinstance(e, ast.Attribute):
        bindings = draft.values.attribute_bindings(e)
    elif isinstance(e, ast.Name):
        bindings = draft.module.scopes.reaching(e)
    else:
        return False
    text = ast.unparse(e)
    return any(
        b.kind == "augment"
        or (b.value is not None and any(ast.unparse(part) == text for part in _terms(b.value)))
        for b in bindings
        if isinstance(b.statement, (ast.Assign, ast.AugAssign))
    )


def _moves_what_is_kept(draft: Draft, quotient: ast.BinOp) -> bool:
    """`mean = mean + (row - mean) / n`, `mean += (row - mean) / n`"""
    statement = draft.syntax.statement(quotient)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        return quotient in _terms(statement.value)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    terms, kept = _terms(statement.value), ast.unparse(statement.targets[0])
    return quotient in terms and any(ast.unparse(t) == kept for t in terms)


def _terms(e: ast.expr) -> list[ast.expr]:
    """What a sum is made of."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Add, ast.Sub)):
        return [*_terms(e.left), *_terms(e.right)]
    return [e]


__all__ = ["around", "ask"]
