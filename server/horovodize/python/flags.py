"""Flags by which a call tells a function what to leave out: `run_step(session, batch, False)` of a function that trains only
`if training:`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class Level(NamedTuple):
    """A node of a function, and the call by which the function runs."""

    node: ast.AST
    function: Function
    call: ast.Call


def is_left_out(module: Module, levels: Sequence[Level]) -> bool:
    """Whether a node is surely not run by a call of its function: it stands in an arm, or after one that leaves, which
    constants that the call passes decide against; or the call hands on what it was passed itself.

    levels: the node's, and those of the calls, innermost first"""
    node, function, _ = levels[0]
    child = node
    for a in module.syntax.ancestors(node):
        if isinstance(child, ast.stmt) and _is_left_before(module, child, levels):
            return True
        field = module.syntax.field[child]
        if isinstance(a, (ast.If, ast.IfExp)) and field in ("body", "orelse"):
            known = _value(module, a.test, levels)
            if known is not None and known is not (field == "body"):
                return True
        if a is function:
            return False
        child = a
    return False


def _is_left_before(module: Module, statement: ast.stmt, levels: Sequence[Level]) -> bool:
    """`if not training: return …` before a statement of the same block"""
    block = module.syntax.block(statement)
    for before in block[: block.index(statement)]:
        if isinstance(before, ast.If) and isinstance(before.body[-1], _LEAVES):
            if _value(module, before.test, levels) is True:
                return True
    return False


def _value(module: Module, test: ast.expr, levels: Sequence[Level]) -> bool | None:
    """What a test comes to; None where the calls don't tell."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            known = _value(module, test.operand, levels)
            return None if known is None else not known
        case ast.BoolOp():
            values = [_value(module, v, levels) for v in test.values]
            decisive = isinstance(test.op, ast.Or)
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() as op], comparators=[other]):
            one, two = (constant(module, e, levels) for e in (test.left, other))
            if one is None or two is None:
                return None
            return (one.value == two.value) is isinstance(op, (ast.Eq, ast.Is))
        case _:
            passed = constant(module, test, levels)
            return None if passed is None else bool(passed.value)


def constant(module: Module, e: ast.expr, levels: Sequence[Level]) -> ast.Constant | None:
    """The constant that a call passes for a parameter, or that is its default; what a program doesn't set itself."""
    if isinstance(e, ast.Constant):
        return e
    if not isinstance(e, ast.Name) or not levels:
        return None
    _, function, call = levels[0]
    bound = module.scopes.reaching(e)
    if not isinstance(function, FUNCTIONS) or len(bound) != 1:
        return None
    if bound[0].kind != "parameter" or bound[0].statement is not function:
        return None
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    given = module.values.graph.given(call, function, e.id)
    return constant(module, given, levels[1:]) if given is not None else None
