"""Where functions of the program read a count of steps that they are handed, and whether it is adapted there: part of G5.

`noisy(x, step)`, and `step / 300` in it: the formula is told the steps of all ranks where it stands. Told them by the call,
too, it would take them for size() times as many."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules.decisions import Counted, Divided, OfAll
from horovodize.rules.draft import Draft
from horovodize.summary.syntax import FUNCTIONS

_DEPTH = 6  # functions that hand a number on to each other


def uses(draft: Draft, read: ast.expr, depth: int = _DEPTH) -> Iterator[ast.expr]:
    """The places where functions read a number that a call hands them, as a part of what it gives; handed on, those where
    it ends up."""
    for parameter in _parameters(draft, read):
        for name in draft.module.loads.get(parameter.arg):
            bound = draft.module.scopes.reaching(name) if isinstance(name, ast.Name) else []
            if not isinstance(name, ast.Name) or all(b.anchor is not parameter for b in bound):
                continue
            further = [*uses(draft, name, depth - 1)] if depth else []
            yield from further or [name]


def is_adapted(draft: Draft, use: ast.expr) -> bool:
    """Whether a rule has told a place the steps of all ranks, or divided what they are compared with or divided by there."""
    child: ast.AST = use
    for a in draft.syntax.ancestors(use):
        if draft.was(child, OfAll):
            return True
        if isinstance(a, (ast.stmt, ast.Call)):
            return False
        if isinstance(a, (ast.Compare, ast.BinOp)):
            beside = (n for n in ast.walk(a) if n is not use)
            if any(draft.was(n, OfAll, Divided, Counted) for n in beside):
                return True
        child = a
    return False


def _parameters(draft: Draft, read: ast.expr) -> Iterator[ast.arg]:
    """The parameters of functions of the program that a value is given for, in the innermost call around it."""
    call = next((a for a in draft.syntax.ancestors(read) if isinstance(a, (ast.Call, ast.stmt))), None)
    if not isinstance(call, ast.Call):
        return
    for function in draft.values.graph.runs(call):
        if not isinstance(function, FUNCTIONS):
            continue
        a = function.args
        for parameter in (*a.posonlyargs, *a.args, *a.kwonlyargs):
            bound = draft.module.scopes.names.get(function, {}).get(parameter.arg, [])
            given = [e for b in bound if b.anchor is parameter for e in draft.values.passed(b)]
            if any(e is read or draft.syntax.inside(read, e) for e in given):
                yield parameter


__all__ = ["is_adapted", "uses"]
