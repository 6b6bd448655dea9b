"""Which statements move a cursor on, and by how much: `i += n`, `i = (i + n) % len(x)`, `i = end`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from horovodize.python.augmented import added, moved_to_end
from horovodize.python.variables import Variables, is_item


def moves_in(body: list[ast.AST]) -> Iterator[tuple[ast.Name | ast.Attribute | ast.Subscript, ast.stmt]]:
    """Statements that set a variable, or an item, from what it was: `i += n`, `i = (i + n) % m`, `state["step"] += 1`;
    `i = end`, where `end = min(i + n, m)`."""
    made_of = {
        n.targets[0].id: n.value
        for n in body
        if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)
    }
    for n in body:
        if isinstance(n, ast.AugAssign) and _is_variable(n.target):
            yield n.target, n
        elif isinstance(n, ast.Assign) and len(n.targets) == 1:
            target = n.targets[0]
            value = made_of.get(n.value.id, n.value) if isinstance(n.value, ast.Name) else n.value
            if _is_variable(target) and Variables(None).mentions(value, {ast.unparse(target)}):
                yield target, n


def _is_variable(target: ast.expr) -> TypeGuard[ast.Name | ast.Attribute | ast.Subscript]:
    return isinstance(target, (ast.Name, ast.Attribute)) or is_item(target)


def amount(statement: ast.stmt) -> ast.expr | None:
    """`n` of `i += n`, `i = i + n`."""
    moved_on = added(statement)
    return moved_on.value if moved_on is not None and is_fixed(moved_on.value) else None


def goes_round(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """`n` and `len(x)` of `i = (i + n) % len(x)`."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.BinOp(op=ast.Add(), left=left, right=right), op=ast.Mod(), right=rows),
        ):
            by = right if isinstance(left, ast.Name) and left.id == name else left
            other = left if by is right else right
            goes_on = isinstance(other, ast.Name) and other.id == name and is_fixed(by)
            return (by, rows) if goes_on and (is_fixed(rows) or _is_length(rows)) else None
    return None


def amount_to_end(statement: ast.stmt, body: list[ast.stmt]) -> ast.expr | None:
    """`n` of `start = end`, where the same turn has set `end = start + n` before, or the lesser one of that and how many rows
    there are."""
    moved_on = moved_to_end(statement, body)
    return moved_on.value if moved_on is not None and is_fixed(moved_on.value) else None


def _is_length(e: ast.expr) -> bool:
    """`len(x)`, `x.shape[0]`"""
    match e:
        case ast.Call(func=ast.Name(id="len"), args=[of]):
            return is_fixed(of)
        case ast.Subscript(value=ast.Attribute(attr="shape", value=of), slice=ast.Constant(value=0)):
            return is_fixed(of)
    return False


def is_fixed(e: ast.expr) -> bool:
    """Whether an expression is a number, or what names one."""
    return isinstance(e, (ast.Name, ast.Attribute)) or (
        isinstance(e, ast.Constant) and isinstance(e.value, int)
    )


__all__ = ["amount", "amount_to_end", "goes_round", "is_fixed", "moves_in"]
