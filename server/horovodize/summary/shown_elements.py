"""Elements that a loop draws beside those that it trains on: for a sample, a picture, a figure to print.

`a, b = next(held)` in every hundredth step, `image = sample(a, b)`, `imwrite(path, image)`. What becomes of them is followed
through names of one function; whatever keeps them, or can't be followed, may train on them later."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive

_KEEPING = frozenset("append appendleft add extend insert put update setdefault push store assign".split())


def are_only_shown(module: Module, drive: Drive, steps: Iterable[ast.AST], drawn: ast.Call) -> bool:
    """Whether no step is taken on what a call draws, and nothing keeps it.

    steps: the places that train"""
    syntax, training = module.syntax, set(steps)
    function = syntax.function(drawn)
    reads = [n for n in syntax.every(ast.Name) if isinstance(n.ctx, ast.Load)]
    todo, seen = [syntax.parent[drawn]], set[ast.AST]()
    while todo:
        made = todo.pop()
        if not isinstance(made, ast.Assign) or not _has_plain_targets(made):
            return False
        if made in seen:
            continue
        seen.add(made)
        for name in reads:
            if not any(b.statement is made for b in module.scopes.reaching(name)):
                continue
            calls = [a for a in syntax.ancestors(name) if isinstance(a, ast.Call)]
            if any(c in training or drive.reaches(c, training) for c in calls):
                return False
            statement = syntax.statement(name)
            if syntax.function(name) is not function:
                return False
            if isinstance(statement, ast.Assign):
                todo.append(statement)
            elif not isinstance(statement, ast.Expr) or any(_keeps(module, c) for c in calls):
                return False
    return True


def _has_plain_targets(assigned: ast.Assign) -> bool:
    parts = (n for target in assigned.targets for n in walk(target) if isinstance(n, ast.expr))
    return all(isinstance(n, (ast.Name, ast.Tuple, ast.List)) for n in parts)


def _keeps(module: Module, call: ast.Call) -> bool:
    """Whether a call may keep what it is given: one that gives nothing back, of an object, or a function of the program that
    stores."""
    callee = module.values.callee(call)
    if not isinstance(callee, FUNCTIONS):
        gives_nothing = isinstance(module.syntax.parent[call], ast.Expr)
        is_known = module.names.of(call.func) is not None or module.scopes.is_builtin(call.func)
        return gives_nothing and not is_known
    return any(
        (isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store))
        or isinstance(n, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom))
        or (isinstance(n, ast.Call) and module.names.last(n.func) in _KEEPING)
        for n in ast.walk(callee)
    )


__all__ = ["are_only_shown"]
