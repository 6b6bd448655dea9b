"""Tests in functions that a program hands on as values, `hooks.append(save)`: part of G5.

Where it can't be followed what calls such a function, a number that it is told may be one of a rank's steps: that is asked."""

from __future__ import annotations

import ast

from horovodize.rules import counted, thresholds
from horovodize.rules.decisions import Asked
from horovodize.rules.draft import Draft
from horovodize.rules.shares import feeding
from horovodize.rules.unseen_counts import only_shows
from horovodize.summary.syntax import CALLABLES, FUNCTIONS

_ASKED = (
    "it can't be seen what `{}` is: where it counts the steps of training, a rank takes size() times fewer, so divide what it "
    "is compared with by `hvd.size()`"
)


def ask(draft: Draft, test: ast.expr) -> None:
    """Asks about a test of a number that a function is told which the program hands on."""
    sides = (test.left, *test.comparators) if isinstance(test, ast.Compare) else ()
    numbers = [_number(side) for side in sides]
    bounds = [draft.facts.feeding.kinds.constant(side) for side in sides]
    compared = any(isinstance(side, ast.BinOp) for side in sides) or any(
        b is not None and b > 1 for b in bounds
    )
    told = next((n for n in numbers if n is not None and _may_count(draft, n)), None)
    if told is None or not compared or only_shows(draft, test) or draft.was(test, Asked):
        return
    if all(counted.is_divided(draft, d) for d in feeding(draft).drivers):
        draft.decide(test, Asked("G5"))
        draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _ASKED.format(draft.module.text(told)))


def _number(e: ast.expr) -> ast.Name | ast.Attribute | None:
    """`step` of `step`, `step + 1` and `step % 100`."""
    while isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Mod, ast.Add, ast.Sub)):
        e = e.left
    return e if isinstance(e, (ast.Name, ast.Attribute)) else None


def _may_count(draft: Draft, number: ast.Name | ast.Attribute) -> bool:
    """Whether it can't be seen what a number is, and it may be that of a step."""
    if isinstance(number, ast.Attribute):
        return counted.perhaps(draft, number)
    bound = draft.module.scopes.reaching(number)
    if len(bound) != 1 or bound[0].kind != "parameter" or "epoch" in number.id.lower():
        return False
    function = bound[0].statement
    if not isinstance(function, CALLABLES) or draft.values.passed(bound[0]):
        return False
    return draft.facts.hooks.of(function) is None and _is_handed_on(draft, function)


def _is_handed_on(draft: Draft, function: ast.AST) -> bool:
    """Whether a function is kept in something of the program's, rather than given to a library."""
    if isinstance(function, FUNCTIONS):
        if draft.syntax.method_class(function) is not None or function.decorator_list:
            return False
        names = (
            n for n in draft.syntax.every(ast.Name) if n.id == function.name and isinstance(n.ctx, ast.Load)
        )
        values: list[ast.expr] = [
            n for n in names if any(b.statement is function for b in draft.module.scopes.reaching(n))
        ]
    else:
        values = [function] if isinstance(function, ast.Lambda) else []
    return any(_is_kept(draft, value) for value in values)


def _is_kept(draft: Draft, value: ast.expr) -> bool:
    around = draft.syntax.parent[value]
    if isinstance(around, ast.Call):
        appends = isinstance(around.func, ast.Attribute) and draft.names.of(around.func) is None
        return value in around.args and appends
    return isinstance(around, (ast.Dict, ast.List, ast.Tuple))


__all__ = ["ask"]
