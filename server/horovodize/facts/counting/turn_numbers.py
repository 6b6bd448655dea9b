"""Which variables of loops count their turns: what `range`, `enumerate` or `itertools.count` gives."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.python.binding import Binding
from horovodize.python.syntax import numbered
from horovodize.summary.feeding import Driver, Feeding

_NONE_TAKEN = ("0", "-1")  # how a program says that there was no turn


class TurnNumbers:
    """The numbers of the turns of one module's loops."""

    def __init__(self, feeding: Feeding) -> None:
        self.feeding, self.names = feeding, feeding.names
        self._turns: dict[tuple[Driver, tuple[int, ...]], Counter] = {}

    def of(self, loop: ast.For | ast.AsyncFor, path: tuple[int, ...]) -> Counter | None:
        """The number of a loop's turn: what `range` or `enumerate` gives."""
        driver = next((d for d in self.feeding.drivers if d.loop is loop), None)
        given_by = self._given_by(loop, path) if driver is not None else None
        if driver is None or given_by is None:
            return None
        if (driver, path) not in self._turns:
            calls = [o.node for o in self.feeding.values.origins(given_by) if isinstance(o.node, ast.Call)]
            made = given_by if isinstance(given_by, ast.Call) else calls[0] if len(calls) == 1 else None
            self._turns[driver, path] = Counter(CounterKind.TURN, frozenset([driver]), made=made)
        return self._turns[driver, path]

    def after_their_start(self, bindings: list[Binding]) -> list[Binding]:
        """Of the bindings of a name that reach a place those of a loop's turns, where the others set it to what these begin
        with: `step = start` before `for step in range(start, n):`, or to none taken yet, `self.step = 0`. Nothing where there
        are others."""
        turns = [b for b in bindings if b.kind == "item" and isinstance(b.statement, (ast.For, ast.AsyncFor))]
        others = [b for b in bindings if b not in turns]
        starts = [
            self._start(b.statement, b.path)
            for b in turns
            if isinstance(b.statement, (ast.For, ast.AsyncFor))
        ]
        set_so = {
            ast.unparse(b.value) if b.kind == "assign" and not b.path and b.value else None for b in others
        }
        is_one = bool(others) and len(turns) == 1 and None not in set_so and None not in starts
        return turns if is_one and set_so <= {*starts, *_NONE_TAKEN} else []

    def _start(self, loop: ast.For | ast.AsyncFor, path: tuple[int, ...]) -> str | None:
        """With what the numbers of a loop's turns begin, as text; None where that isn't seen."""
        counter = self.of(loop, path)
        made = counter.made if counter is not None else None
        if made is None or not self.feeding.kinds.is_range(made) or made.keywords:
            return None
        return ast.unparse(made.args[0]) if len(made.args) > 1 else "0"

    def _given_by(self, loop: ast.For | ast.AsyncFor, path: tuple[int, ...]) -> ast.expr | None:
        """What gives a name its numbers: a `range`, `enumerate` or `count`, or a name for one."""
        e = self.feeding.without_bars(loop.iter)
        while isinstance(e, ast.Call):
            called = self.names.last(e.func)
            data = numbered(e)
            if data is not None:
                if path == (0,):
                    return e
                if path[:1] != (1,):
                    return None
                e, path = self.feeding.without_bars(data), path[1:]
            elif called == "zip":
                if not path or not 0 <= path[0] < len(e.args):
                    return None
                e, path = self.feeding.without_bars(e.args[path[0]]), path[1:]
            elif called == "count" and self.names.of(e.func) == "itertools.count":
                return e if path == () else None
            elif self.feeding.kinds.is_range(e):
                return e if path == () else None
            else:
                inner = self.feeding.inside(e)
                if inner is e:
                    return None
                e = inner
        return e if path == () and self.feeding.kinds.is_range(e) else None
