"""What signals change: the flag that `def on_term(number, frame): stop = True` sets. Each rank gets one at another step."""

from __future__ import annotations

import ast

from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, argument

_SETTING = "signal.signal"
_BOUND = ("assign", "augment")


class Signals:
    """The handlers of signals of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._handlers: set[ast.AST] | None = None

    @property
    def are_handled(self) -> bool:
        """Whether there is a handler at all."""
        return bool(self.module.calls_of(_SETTING))

    def sets(self, b: Binding) -> bool:
        """Whether a binding is made when a signal comes: in a handler, or in a function that one calls."""
        if b.kind not in _BOUND or not self.are_handled:
            return False
        return self.module.syntax.function(b.statement) in self.handlers

    def sets_event(self, call: ast.Call) -> bool:
        """Whether a call asks for an event that a handler sets: `stop.is_set()`."""
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "is_set") or not self.are_handled:
            return False
        asked = ast.unparse(call.func.value)
        return any(
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr == "set"
            and ast.unparse(n.func.value) == asked
            for function in self.handlers
            for n in ast.walk(function)
        )

    @property
    def handlers(self) -> set[ast.AST]:
        """The functions that run when a signal comes."""
        if self._handlers is None:
            given = [argument(call, "handler", 1) for call in self.module.calls_of(_SETTING)]
            values = self.module.values
            todo = [o.node for e in given if e is not None for o in values.origins(e) if not o.path]
            self._handlers = set()
            while todo:
                function = todo.pop()
                if not isinstance(function, CALLABLES) or function in self._handlers:
                    continue
                self._handlers.add(function)
                called = [n for n in ast.walk(function) if isinstance(n, ast.Call)]
                todo += [f for c in called if (f := values.callee(c)) is not None]
        return self._handlers
