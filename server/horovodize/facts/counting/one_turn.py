"""Loops that a program writes for batches and that take one turn: `while i * batch < x.shape[0]` of one batch,
`for i in range(0, len(x), batch)`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from horovodize.facts.feeds.shapes import Shapes
from horovodize.python.augmented import added
from horovodize.python.comparisons import faced
from horovodize.python.module import Module
from horovodize.python.syntax import LOOPS

_COMPUTED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class OneTurn:
    """The loops of one module whose count is at its end after one turn."""

    def __init__(self, module: Module, shapes: Shapes) -> None:
        self.module, self.shapes = module, shapes

    def goes_through(self, numbers: ast.expr) -> bool:
        """Whether numbers are one number in the end: `range(1)`, `range(0, len(x), 32)` of 24 rows."""
        kinds = self.shapes.kinds
        if kinds.turns_once(numbers) or not isinstance(numbers, ast.Call) or not kinds.is_range(numbers):
            return kinds.turns_once(numbers)
        ends = [self._size(arg) for arg in numbers.args]
        known = [end for end in ends if end is not None]
        return len(known) == len(ends) == 3 and known[2] != 0 and len(range(*known)) == 1

    def is_of(self, loop: ast.While) -> bool:
        """Whether a loop takes one turn each time that it is come to."""
        return any(self.counts(s) for s in loop.body)

    def counts(self, move: ast.AST) -> bool:
        """Whether a statement counts a loop's turns, `i += 1`, and the loop has one."""
        moved = added(move)
        loop = next((a for a in self.module.syntax.ancestors(move) if isinstance(a, LOOPS)), None)
        if moved is None or not isinstance(moved.target, ast.Name) or not isinstance(loop, ast.While):
            return False
        target, step, sides = moved.target, self._number(moved.value), faced(loop.test, (ast.Lt,))
        read = [n for n in ast.walk(loop.test) if isinstance(n, ast.Name) and n.id == target.id]
        if sides is None or step is None or step < 1 or len(read) != 1 or move not in loop.body:
            return False
        bound = self.module.scopes.reaching(read[0])
        starts = [b.value for b in bound if not self.module.syntax.inside(b.statement, loop)]
        if len(bound) != len(starts) + 1 or not starts:
            return False
        first = {self._number(e) if e is not None else None for e in starts}
        start = first.pop() if len(first) == 1 else None
        end = self._size(sides[1])
        if start is None or end is None:
            return False
        at = [self._at(sides[0], read[0], i) for i in (start, start + step)]
        return at[0] is not None and at[1] is not None and at[0] < end <= at[1]

    def _number(self, e: ast.expr) -> int | None:
        return self.shapes.kinds.constant(e)

    def _size(self, e: ast.expr) -> int | None:
        """A number of rows: `64`, `len(x)`, `x.shape[0]`"""
        known = self._number(e)
        sizes = [o.node for o in self.module.values.origins(e) if not o.path] if known is None else []
        match sizes:
            case [ast.Subscript(value=ast.Attribute(value=array, attr="shape"), slice=ast.Constant(value=0))]:
                return self._rows(array)
            case [ast.Call(func=func, args=[array])] if self.module.names.last(func) == "len":
                return self._rows(array)
            case _:
                return known

    def _rows(self, array: ast.expr) -> int | None:
        return 1 if self.shapes.is_one_row(array) else self.shapes.rows(array)

    def _at(self, e: ast.expr, count: ast.Name, value: int) -> int | None:
        """What an expression is where the count has a value."""
        if e is count:
            return value
        if isinstance(e, ast.BinOp) and type(e.op) in _COMPUTED:
            left, right = self._at(e.left, count, value), self._at(e.right, count, value)
            return _COMPUTED[type(e.op)](left, right) if left is not None and right is not None else None
        return self._number(e)
