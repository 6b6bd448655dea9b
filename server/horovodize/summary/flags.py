"""Flags by which a call tells a function what to leave out: `run_step(session, batch, False)` of a function that trains only
`if training:`."""

from __future__ import annotations

import ast

from horovodize.summary.module import Module
from horovodize.summary.syntax import FUNCTIONS, Function

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def is_left_out(module: Module, node: ast.AST, function: Function, call: ast.Call) -> bool:
    """Whether a node of a function is surely not run by a call of it: it stands in an arm, or after one that leaves, which
    constants that the call passes decide against."""
    child = node
    for a in module.syntax.ancestors(node):
        if isinstance(child, ast.stmt) and _is_left_before(module, child, function, call):
            return True
        field = module.syntax.field[child]
        if isinstance(a, (ast.If, ast.IfExp)) and field in ("body", "orelse"):
            known = _value(module, a.test, function, call)
            if known is not None and known is not (field == "body"):
                return True
        if a is function:
            return False
        child = a
    return False


def _is_left_before(module: Module, statement: ast.stmt, function: Function, call: ast.Call) -> bool:
    """`if not training: return …` before a statement of the same block"""
    block = module.syntax.block(statement)
    for before in block[: block.index(statement)]:
        if isinstance(before, ast.If) and isinstance(before.body[-1], _LEAVES):
            if _value(module, before.test, function, call) is True:
                return True
    return False


def _value(module: Module, test: ast.expr, function: Function, call: ast.Call) -> bool | None:
    """What a test comes to; None where the call doesn't tell."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            known = _value(module, test.operand, function, call)
            return None if known is None else not known
        case ast.BoolOp():
            values = [_value(module, v, function, call) for v in test.values]
            decisive = isinstance(test.op, ast.Or)
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() as op], comparators=[other]):
            one, two = (_constant(module, e, function, call) for e in (test.left, other))
            if one is None or two is None:
                return None
            return (one.value == two.value) is isinstance(op, (ast.Eq, ast.Is))
        case _:
            constant = _constant(module, test, function, call)
            return None if constant is None else bool(constant.value)


def _constant(module: Module, e: ast.expr, function: Function, call: ast.Call) -> ast.Constant | None:
    """The constant that a call passes for a parameter, or that is its default; what a program doesn't set itself."""
    if isinstance(e, ast.Constant):
        return e
    if not isinstance(e, ast.Name) or not isinstance(function, FUNCTIONS):
        return None
    bound = module.scopes.reaching(e)
    if len(bound) != 1 or bound[0].kind != "parameter" or bound[0].statement is not function:
        return None
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    given = module.values.graph.given(call, function, e.id)
    return given if isinstance(given, ast.Constant) else None
