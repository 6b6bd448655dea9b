"""Which places of a script run once for a graph, so that what they make is one operation, and what stands around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import COMPREHENSIONS, FUNCTIONS, LOOPS, Function

_DEPTH = 8
_REPEATING = (*LOOPS, *COMPREHENSIONS, ast.Lambda)


class Places:
    """The places of one module, as a run in `home` sees them: the class in whose method it stands, which may have several
    instances; the run sees one of them."""

    def __init__(self, module: Module, home: ast.ClassDef | None = None) -> None:
        self.module, self.syntax, self.home = module, module.syntax, home
        self._ways: dict[ast.AST, tuple[ast.AST, ...] | None] = {}

    def way(self, node: ast.AST) -> tuple[ast.AST, ...] | None:
        """A node and the calls that lead there, innermost first; None where there may be several ways, or it isn't seen."""
        if node not in self._ways:
            self._ways[node] = self._find_way(node)
        return self._ways[node]

    def _find_way(self, node: ast.AST) -> tuple[ast.AST, ...] | None:
        way = [node]
        while (function := self.syntax.function(way[-1])) is not None:
            if function.decorator_list or len(way) >= _DEPTH:
                return None
            if self._begins(function):
                break
            callers = self.module.values.callers(function)
            if len(callers) > 1 or any(call in way for call in callers):
                return None
            if not callers:
                break
            way.append(callers[0])
        return tuple(way)

    def _begins(self, function: Function) -> bool:
        """Whether all that a run can see of a class starts there."""
        return self.home is not None and function in self.home.body and function.name == "__init__"

    def repeats(self, node: ast.AST) -> list[ast.AST] | None:
        """What may run a place more than once: loops, comprehensions and lambdas; None where it isn't known."""
        way = self.way(node)
        return None if way is None else [a for place in way for a in self._repeating(place)]

    def _repeating(self, place: ast.AST) -> Iterator[ast.AST]:
        child = place
        for a in self.syntax.ancestors(place):
            if isinstance(a, FUNCTIONS) and self.syntax.field[child] == "body":
                return
            if isinstance(a, _REPEATING) and self.syntax.field[child] not in ("iter", "orelse"):
                yield a
            child = a

    def contexts(self, node: ast.AST) -> list[ast.expr]:
        """What the `with` statements around a place are given, in all functions on the way there."""
        found = []
        for place in self.way(node) or (node,):
            child = place
            for a in self.syntax.ancestors(place):
                if isinstance(a, FUNCTIONS):
                    break
                if isinstance(a, (ast.With, ast.AsyncWith)) and self.syntax.field[child] == "body":
                    found += [item.context_expr for item in a.items]
                child = a
        return found
