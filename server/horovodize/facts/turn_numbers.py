"""Which variables of loops count their turns: what `range`, `enumerate` or `itertools.count` gives."""

from __future__ import annotations

import ast

from horovodize.facts.counter_kinds import Counter, CounterKind
from horovodize.summary.feeding import Driver, Feeding
from horovodize.summary.syntax import numbered


class TurnNumbers:
    """The numbers of the turns of one module's loops."""

    def __init__(self, feeding: Feeding) -> None:
        self.feeding, self.names = feeding, feeding.names
        self._turns: dict[tuple[Driver, tuple[int, ...]], Counter] = {}

    def of(self, loop: ast.For | ast.AsyncFor, path: tuple[int, ...]) -> Counter | None:
        """The number of a loop's turn: what `range` or `enumerate` gives."""
        driver = next((d for d in self.feeding.drivers if d.loop is loop), None)
        if driver is None or not self._is_number(loop, path):
            return None
        if (driver, path) not in self._turns:
            self._turns[driver, path] = Counter(CounterKind.TURN, frozenset([driver]))
        return self._turns[driver, path]

    def _is_number(self, loop: ast.For | ast.AsyncFor, path: tuple[int, ...]) -> bool:
        e = self.feeding.without_bars(loop.iter)
        while isinstance(e, ast.Call):
            called = self.names.last(e.func)
            data = numbered(e)
            if data is not None:
                if path == (0,):
                    return True
                if path[:1] != (1,):
                    return False
                e, path = self.feeding.without_bars(data), path[1:]
            elif called == "zip":
                if not path or not 0 <= path[0] < len(e.args):
                    return False
                e, path = self.feeding.without_bars(e.args[path[0]]), path[1:]
            elif called == "count" and self.names.of(e.func) == "itertools.count":
                return path == ()
            elif self.feeding.kinds.is_range(e):
                return path == ()
            else:
                inner = self.feeding.inside(e)
                if inner is e:
                    return False
                e = inner
        return path == () and self.feeding.kinds.is_range(e)
