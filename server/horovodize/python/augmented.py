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


def moved_to_end(statement: ast.stmt, body: list[ast.stmt]) -> Augmented | None:
    """The same of `start = end`, where a body has set `end = start + n` before, or `end = min(start + n, rows)`, and nothing
    else sets the end."""
    if not isinstance(statement, ast.Assign) or statement not in body or len(statement.targets) != 1:
        return None
    target, end = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(end, ast.Name):
        return None
    inside = [n for s in body for n in ast.walk(s)]
    set_ = [
        n for n in inside if isinstance(n, ast.Name) and n.id == end.id and not isinstance(n.ctx, ast.Load)
    ]
    before = [s for s in body[: body.index(statement)] if isinstance(s, ast.Assign)]
    made = [s.value for s in before if len(set_) == 1 and s.targets == set_]
    given = [_lesser(e, target.id) for e in made]
    if len(given) != 1 or not isinstance(given[0], ast.BinOp) or not isinstance(given[0].op, ast.Add):
        return None
    left, right = given[0].left, given[0].right
    if _is_same(left, target):
        return Augmented(target, given[0].op, right)
    return Augmented(target, given[0].op, left) if _is_same(right, target) else None


def _lesser(e: ast.expr, name: str) -> ast.expr | None:
    """`start + n` of `min(start + n, rows)`, with a number or how many rows there are; of anything else itself."""
    match e:
        case ast.Call(
            func=ast.Name(id="min") | ast.Attribute(attr="minimum"), args=[one, other], keywords=[]
        ):
            sums = [
                a for a in (one, other) if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(a))
            ]
            bound = other if sums == [one] else one
            is_number = isinstance(bound, (ast.Name, ast.Attribute, ast.Constant, ast.Subscript))
            is_length = isinstance(bound, ast.Call) and ast.unparse(bound.func) == "len"
            return sums[0] if len(sums) == 1 and (is_number or is_length) else None
    return e


def _is_same(e: ast.expr, target: ast.expr) -> bool:
    return type(e) is type(target) and ast.unparse(e) == ast.unparse(target)
