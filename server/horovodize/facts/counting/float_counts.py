"""Variables that count in floats: `self.step.assign_add(1.0)`, of which it is asked which step it is, `self.step % 4 == 0`, or
how far averages have come: `(1.0 + self.updates) / (10.0 + self.updates)`.

A number that goes on by 1.0 may as well be a weight that grows; what is compared with a number of steps is none."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cached_property

from horovodize.facts.counting.variable_additions import unconverted
from horovodize.python.module import Module

_ASKING = {"mod", "floormod", "remainder", "equal"}


class FloatCounts:
    """Those of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def counts(self, made: ast.Call, amounts: Collection[ast.expr | None]) -> bool:
        """Whether a variable that is made by a call, and goes on by some amounts, counts steps in floats."""
        by_one = [isinstance(a, ast.Constant) and type(a.value) is float and a.value == 1.0 for a in amounts]
        return bool(by_one) and all(by_one) and any(made in self.module.values.calls(e) for e in self._asked)

    @cached_property
    def _asked(self) -> list[ast.expr]:
        return [unconverted(e) for e in self._compared()]

    def _compared(self) -> Iterator[ast.expr]:
        for n in self.module.syntax.every(ast.BinOp, ast.Compare, ast.Call):
            match n:
                case ast.BinOp(left=left, op=ast.Mod()) if not isinstance(
                    left, (ast.Constant, ast.JoinedStr)
                ):
                    yield left
                case ast.BinOp(left=left, op=ast.Div(), right=right):
                    yield from _in_both(left, right)
                case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                    yield from (left, right)
                case ast.Call(args=[one, other, *_]) if self.module.names.last(n.func) in _ASKING:
                    yield from (one, other)


def _in_both(left: ast.expr, right: ast.expr) -> Iterator[ast.expr]:
    """What is added to on both sides of a quotient."""
    sides = [
        {ast.unparse(e): e for e in (side.left, side.right) if isinstance(e, (ast.Name, ast.Attribute))}
        for side in (left, right)
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add)
    ]
    if len(sides) == 2:
        yield from (e for text, e in sides[0].items() if text in sides[1])


__all__ = ["FloatCounts"]
