"""Decorators of the program's own that decide whether what they decorate runs: `@every(50)` above `def drop():`, whose wrapper
counts its calls and hands on each fiftieth."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function
from horovodize.source.nodes import walk


def gates(module: Module, function: Function) -> Iterator[ast.expr]:
    """The tests by which decorators hand a call of a function on, or don't."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        for o in module.values.origins(called):
            if isinstance(o.node, (*FUNCTIONS, ast.ClassDef)) and not o.path:
                yield from _tests_in(module, o.node)


def gated(module: Module) -> Iterator[tuple[Function, ast.expr]]:
    """(a function, a test by which one of its decorators hands a call on), of all that are decorated so."""
    for function in module.syntax.every(*FUNCTIONS):
        assert isinstance(function, FUNCTIONS)
        yield from ((function, test) for test in gates(module, function) if function.decorator_list)


def _tests_in(module: Module, decorator: ast.AST) -> Iterator[ast.expr]:
    """The tests around where a wrapper in a decorator calls what was decorated: a parameter of a function around it."""
    for call in (n for n in walk(decorator) if isinstance(n, ast.Call)):
        wrapper = next((a for a in module.syntax.ancestors(call) if isinstance(a, CALLABLES)), None)
        bound = module.scopes.reaching(call.func) if isinstance(call.func, ast.Name) else []
        handed = bool(bound) and all(b.kind == "parameter" and b.statement is not wrapper for b in bound)
        if handed:
            yield from (
                t.test for t, _ in module.syntax.conditions(call) if isinstance(t, (ast.If, ast.IfExp))
            )


__all__ = ["gated", "gates"]
