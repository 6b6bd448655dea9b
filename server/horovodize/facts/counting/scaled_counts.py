"""Numbers that go with a count of steps, `rows = (i + 1) * 32`, `step = start // 32`: which count, and how far in a turn."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.counters import Counters
from horovodize.python.augmented import augmented
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.feeding import Feeding

_RANGES = ("range", "xrange", "trange", "arange")
_DEPTH = 6  # names that are made of one another


@dataclass(frozen=True)
class Scaled:
    """A number that goes with a count.

    counter  what counts
    read     where it is read
    by       how far the number goes on in each turn: 32 of `i * 32`
    unit     what that is to be multiplied with, where it isn't known: `batch` of `i * batch`"""

    counter: Counter
    read: ast.expr
    by: int = 1
    unit: ast.expr | None = None

    def times(self, other: int | None, e: ast.expr) -> Scaled | None:
        """Of `i * 32`, or of `i * batch`."""
        if other is not None:
            return replace(self, by=self.by * other) if other > 0 else None
        is_plain = self.unit is None and isinstance(e, (ast.Name, ast.Attribute))
        return replace(self, unit=e) if is_plain else None

    def over(self, other: int | None, e: ast.expr) -> Scaled | None:
        """Of `start // 32`, or of `start // batch`."""
        if other is not None:
            return replace(self, by=self.by // other) if other > 0 and self.by % other == 0 else None
        is_unit = self.unit is not None and ast.dump(self.unit) == ast.dump(e)
        return replace(self, unit=None) if is_unit else None

    def plus(self, other: int | None, e: ast.expr) -> Scaled | None:
        """Of `start + 32`, or of `start + batch`."""
        if other is not None:
            return self if other % self.by == 0 and (self.unit is None or other == 0) else None
        is_unit = self.unit is not None and ast.dump(self.unit) == ast.dump(e)
        return self if is_unit and self.by == 1 else None


class ScaledCounts:
    """The numbers of one module that go with counts of steps."""

    def __init__(self, module: Module, feeding: Feeding, counters: Counters) -> None:
        self.module, self.feeding, self.counters = module, feeding, counters

    def of(self, e: ast.expr, known: Iterable[ast.AST] = ()) -> Scaled | None:
        """What an expression, or what the name is set to that it is, counts; None where that or by how much isn't known. Not
        through `known`: what is read there has been turned into something else."""
        return self._of(e, frozenset(known), _DEPTH)

    def _of(self, e: ast.expr, known: frozenset[ast.AST], depth: int) -> Scaled | None:
        is_read = isinstance(e, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        counter = self.counters.of(e, known) if is_read else None
        if counter is not None:
            return self._counted(counter, e)
        if depth == 0 or e in known:
            return None
        match e:
            case ast.Name():
                made = self._made(e)
                return self._of(made, known, depth - 1) if made is not None else None
            case ast.BinOp(left=left, op=op, right=right):
                one, other = self._of(left, known, depth - 1), right
                if one is None and isinstance(op, (ast.Add, ast.Mult)):
                    one, other = self._of(right, known, depth - 1), left
                return self._made_by(one, op, other) if one is not None else None
            case _:
                return None

    def _made_by(self, one: Scaled, op: ast.operator, other: ast.expr) -> Scaled | None:
        number = self.feeding.kinds.constant(other)
        match op:
            case ast.Add() | ast.Sub():
                return one.plus(number, other)
            case ast.Mult():
                return one.times(number, other)
            case ast.FloorDiv():
                return one.over(number, other)
            case _:
                return None

    def _counted(self, counter: Counter, read: ast.expr) -> Scaled | None:
        """A count itself, which may go on by more than one: `range(0, n, 32)`, `rows += 32`."""
        moves: list[ast.expr | None] = []
        if counter.kind is CounterKind.TURN:
            e = counter.made
            moves = [
                argument(e, "step", 2)
                if e is not None and self.module.names.last(e.func) in _RANGES
                else None
            ]
        elif counter.kind is CounterKind.NUMBER:
            moves = [m.value if (m := augmented(a)) is not None else None for a in counter.advances]
        written = {ast.unparse(e) if e is not None else "" for e in moves}
        if not written or written == {""}:
            return Scaled(counter, read)
        move = moves[0]
        if len(written) > 1 or move is None:
            return None
        return Scaled(counter, read).times(self.feeding.kinds.constant(move), move)

    def _made(self, e: ast.Name) -> ast.expr | None:
        """What a name is always set to: `(i + 1) * 32`."""
        bound = self.module.scopes.reaching(e)
        if len(bound) != 1 or bound[0].kind != "assign" or bound[0].value is None:
            return None
        return self.counters.fetched.part(bound[0].value, bound[0].path)


__all__ = ["Scaled", "ScaledCounts"]
