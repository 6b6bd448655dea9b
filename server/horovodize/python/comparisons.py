"""What a test compares with what, whichever of the two stands first: `step < 100` and `100 > step`."""

from __future__ import annotations

import ast

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq,
}  # fmt: skip


def flipped(operator: ast.cmpop) -> ast.cmpop:
    """How the right side compares with the left: `50 > step % 100`"""
    turned = _TURNED.get(type(operator))
    return turned() if turned is not None else operator


def faced(test: ast.AST, operators: tuple[type[ast.cmpop], ...]) -> tuple[ast.expr, ast.expr] | None:
    """The two sides of a single comparison, in the order in which it is one of some operators; None where it is neither way. A
    constant comes second: `100 == step`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(left, ast.Constant) or not isinstance(operator, operators):
        left, operator, right = right, flipped(operator), left
    return (left, right) if isinstance(operator, operators) else None


__all__ = ["faced", "flipped"]
