"""What a statement adds to what it sets, or multiplies it by: `total += loss`; or spelt out, `total = total + loss`."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Augmented(NamedTuple):
    """`target operator= value`."""

    target: ast.Name | ast.Attribute | ast.Subscript
    operator: ast.operator
    value: ast.expr


def augmented(statement: ast.AST) -> Augmented | None:
    """What a statement (or `n := n + 1`) does to what it sets; None where it sets something else, or does something else. What
    is set may also come second in a sum or product: `total = loss + total`."""
    match statement:
        case ast.AugAssign(target=target, op=op, value=value):
            return Augmented(target, op, value)
        case (
            ast.Assign(targets=[target], value=ast.BinOp() as made)
            | ast.NamedExpr(target=target, value=ast.BinOp() as made)
        ) if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
            if _is_same(made.left, target):
                return Augmented(target, made.op, made.right)
            if isinstance(made.op, (ast.Add, ast.Mult)) and _is_same(made.right, target):
                return Augmented(target, made.op, made.left)
    return None


def added(statement: ast.AST) -> Augmented | None:
    """The same of what adds: `total += loss`."""
    found = augmented(statement)
    return found if found is not None and isinstance(found.operator, ast.Add) else None


def _is_same(e: ast.expr, target: ast.expr) -> bool:
    return type(e) is type(target) and ast.unparse(e) == ast.unparse(target)
