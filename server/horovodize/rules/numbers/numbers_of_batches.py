"""How many batches of how many rows an expression counts, however it is written: `len(x) // 16`, `int(np.ceil(n / size))`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import NamedTuple

from horovodize.python.syntax import is_one
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding

_ROUNDING = ("int", "float", "round", "ceil", "floor", "trunc")
_DEPTH = 4


class Batches(NamedTuple):
    """So many rows in batches of that size, both as canonical text; whether a last one that isn't full counts is left open."""

    rows: str
    size: str


def counted(
    draft: Draft, e: ast.expr, is_left: Callable[[ast.expr], bool], depth: int = _DEPTH
) -> Batches | None:
    """The batches that a number counts, if it does.

    is_left: whether a name is not followed to what it is set to, as it stands for a rank's share already"""
    while isinstance(e, ast.Call) and len(e.args) == 1 and draft.names.last(e.func) in _ROUNDING:
        e = e.args[0]
    if isinstance(e, ast.Name):
        value = _only_value(draft, e)
        return (
            None if value is None or depth == 0 or is_left(e) else counted(draft, value, is_left, depth - 1)
        )
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, (ast.Div, ast.FloorDiv)):
        return None
    return Batches(_rows(draft, _without_rest(draft, e.left, e.right)), _size(draft, e.right))


def of_range(draft: Draft, call: ast.Call, is_left: Callable[[ast.expr], bool]) -> Batches | None:
    """The batches that a loop goes through: `range(n)`, `range(0, n // size * size, size)`, `range(0, n - size + 1, size)`."""
    if len(call.args) == 1:
        return counted(draft, call.args[0], is_left)
    if len(call.args) != 3 or feeding(draft).kinds.constant(call.args[0]) != 0:
        return None
    end, step = call.args[1], call.args[2]
    size = _size(draft, step)
    if isinstance(end, ast.Name) and (value := _only_value(draft, end)) is not None:
        end = value if isinstance(value, ast.BinOp) else end
    if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Mult):
        for number, by in ((end.left, end.right), (end.right, end.left)):
            if _size(draft, by) == size:
                return counted(draft, number, is_left)
        return None
    return Batches(_rows(draft, _without_rest(draft, end, step)), size)


def _without_rest(draft: Draft, e: ast.expr, size: ast.expr) -> ast.expr:
    """`n` of `n - n % size`, of `n - size + 1` and of `n + size - 1`: as many full batches, or all."""
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, (ast.Add, ast.Sub)):
        return e
    if isinstance(e.op, ast.Sub) and isinstance(e.right, ast.BinOp) and isinstance(e.right.op, ast.Mod):
        same = _rows(draft, e.right.left) == _rows(draft, e.left)
        return e.left if same and _size(draft, e.right.right) == _size(draft, size) else e
    inner = e.left
    if is_one(e.right) and isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Add, ast.Sub)):
        turned = isinstance(inner.op, ast.Sub) is isinstance(e.op, ast.Add)
        return inner.left if turned and _size(draft, inner.right) == _size(draft, size) else e
    return e


def _rows(draft: Draft, e: ast.expr) -> str:
    """A number of rows as text: of a name that is set once to the length of something that length."""
    value = _only_value(draft, e) if isinstance(e, ast.Name) else None
    text = re.sub(r"([\w.]+)\.shape\[0\]", r"len(\1)", ast.unparse(value if value is not None else e))
    return text if value is None or text.startswith("len(") else ast.unparse(e)


def _size(draft: Draft, e: ast.expr) -> str:
    known = feeding(draft).kinds.constant(e)
    return ast.unparse(e) if known is None else str(known)


def _only_value(draft: Draft, name: ast.Name) -> ast.expr | None:
    bindings = draft.module.scopes.reaching(name)
    if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path:
        return None
    return bindings[0].value
