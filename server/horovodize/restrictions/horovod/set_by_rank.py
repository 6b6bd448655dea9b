"""Where a number of steps is another on some ranks: `steps -= 1` under `if hvd.rank() == 1:` (HVD323)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS
from horovodize.restrictions.context import Context

_ARITHMETIC = ("int", "max", "min", "round", "abs", "sum")
_DEPTH = 12


def set_by_rank(context: Context, number: ast.expr, depth: int = 0) -> Iterator[ast.AST]:
    """The places in the arithmetic of a number, as far as it is written, that a test of the rank decides. What is sent, or
    comes from a call that isn't seen, is no such place."""
    if depth > _DEPTH:
        return
    tests = context.facts.rank_tests
    match number:
        case ast.BinOp():
            inner = [number.left, number.right]
            if isinstance(number.op, (ast.Add, ast.Sub)) and any(
                context.facts.horovod.is_call(e, "rank", "local_rank") for e in inner
            ):
                yield number
        case ast.UnaryOp():
            inner = [number.operand]
        case ast.IfExp():
            if tests.decides(number.test) and ast.dump(number.body) != ast.dump(number.orelse):
                yield number
            inner = [number.body, number.orelse]
        case ast.Compare():
            if depth and tests.decides(number):
                yield number
            return
        case ast.Call() if context.is_builtin(number.func, *_ARITHMETIC):
            inner = list(number.args)
        case ast.Call() if isinstance(callee := context.values.callee(number), FUNCTIONS):
            inner = list(context.values.returned(callee))
        case ast.Name() | ast.Attribute():
            yield from _of_name(context, number, depth)
            return
        case _:
            return
    for e in inner:
        yield from set_by_rank(context, e, depth + 1)


def _of_name(context: Context, name: ast.Name | ast.Attribute, depth: int) -> Iterator[ast.AST]:
    bound = (
        context.scopes.reaching(name)
        if isinstance(name, ast.Name)
        else context.values.attribute_bindings(name)
    )
    for b in bound:
        if b.kind == "parameter":
            for given in context.values.passed(b):
                yield from set_by_rank(context, given, depth + 1)
            continue
        if b.kind not in ("assign", "augment") or b.path or b.value is None:
            continue
        if isinstance(b.statement, ast.stmt) and context.facts.rank_tests.deciding(b.statement) is not None:
            if b.kind == "augment" or len(bound) > 1:
                yield b.statement
                continue
        yield from set_by_rank(context, b.value, depth + 1)
