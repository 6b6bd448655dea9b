"""What threads change beside the training: a memory that `def fill(): memory.append(row)` fills, a flag that it sets. A thread
is at another place on each rank when that comes to the same step."""

from __future__ import annotations

import ast

from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument

_TARGETS = {"threading.Thread": ("target", 1), "threading.Timer": ("function", 1)}
_BOUND = ("assign", "augment")
_WAITED_FOR = {"put", "put_nowait"}  # who takes from a queue gets all in the same order, and waits


class ThreadChanges:
    """The threads of one module. What trains in threads itself is refused (`rules/loops/threads`)."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._functions: set[ast.AST] | None = None

    def sets(self, b: Binding, use: ast.AST) -> bool:
        """Whether a thread gives a value that another one reads at a use."""
        return b.kind in _BOUND and self._beside(b.statement, use)

    def changes(self, place: ast.AST, use: ast.AST) -> bool:
        """Whether a thread changes an object at a place that another one reads at a use; not by putting it into a queue."""
        parent = self.module.syntax.parent.get(place)
        waits = isinstance(parent, ast.Attribute) and parent.attr in _WAITED_FOR
        return not waits and self._beside(place, use)

    def _beside(self, place: ast.AST, use: ast.AST) -> bool:
        function = self.module.syntax.function(place)
        return function in self.functions and self.module.syntax.function(use) not in self.functions

    @property
    def functions(self) -> set[ast.AST]:
        """The functions that run in threads, with those that they call."""
        if self._functions is None:
            found, todo = set[ast.AST](), self._begun()
            while todo:
                function = todo.pop()
                if function in found or not isinstance(function, CALLABLES):
                    continue
                found.add(function)
                called = [n for n in ast.walk(function) if isinstance(n, ast.Call)]
                todo += [f for c in called if (f := self.module.values.callee(c)) is not None]
            self._functions = found
        return self._functions

    def _begun(self) -> list[ast.AST]:
        """The functions that threads begin with: `target=fill`, `run` of a class derived from `Thread`."""
        module, found = self.module, list[ast.AST]()
        for name, (parameter, index) in _TARGETS.items():
            for call in module.calls_of(name):
                target = argument(call, parameter, index)
                found += (
                    [o.node for o in module.values.origins(target) if not o.path]
                    if target is not None
                    else []
                )
        for cls in module.syntax.every(ast.ClassDef):
            if _TARGETS.keys() & set(module.values.ancestors(cls)):
                found += [s for s in cls.body if isinstance(s, FUNCTIONS) and s.name == "run"]
        return found


__all__ = ["ThreadChanges"]
