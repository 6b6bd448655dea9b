"""Tests that stand under a name, `is_due = step % 100 == 0`, or in a function of one answer, `is_due(step)`: what holds of a
test holds of those that read it so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES
from horovodize.rules.drafting.draft import Draft

_TESTS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call, ast.Name)
_DEPTH = 4


def behind(draft: Draft, test: ast.expr, depth: int = _DEPTH) -> ast.expr:
    """The test that a name or a call stands for; else the expression itself."""
    found: list[ast.expr] = []
    if isinstance(test, ast.Name):
        bound = draft.module.scopes.reaching(test)
        found = [b.value for b in bound if _is_whole(b) and isinstance(b.value, _TESTS)]
        found = found if len(bound) == 1 else []
    elif isinstance(test, ast.Call) and isinstance(callee := draft.values.callee(test), CALLABLES):
        found = draft.values.returned(callee)
    return behind(draft, found[0], depth - 1) if len(found) == 1 and depth else test


def decisions(draft: Draft, test: ast.expr) -> Iterator[ast.If]:
    """The statements that a test, or what it is part of, decides: the `if` that it stands in, or those that read a name or a
    function for it."""
    statement = draft.syntax.statement(test)
    if isinstance(statement, ast.If) and draft.syntax.inside(test, statement.test):
        yield statement
        return
    around = next((a for a in draft.syntax.ancestors(test) if isinstance(a, ast.Lambda)), None)
    given = statement.value if isinstance(statement, (ast.Assign, ast.Return)) else None
    whole = around.body if around is not None else given
    for n in draft.syntax.every(ast.If) if whole is not None else ():
        read = (part for part in ast.walk(n.test) if isinstance(part, (ast.Name, ast.Call)))
        if any(behind(draft, part) is whole for part in read):
            yield n


def _is_whole(b: Binding) -> bool:
    return b.kind == "assign" and not b.path


__all__ = ["behind", "decisions"]
