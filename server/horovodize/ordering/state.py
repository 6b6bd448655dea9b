"""What Python functions that a graph calls change outside themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.ordering.calls import PYTHON
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument

_CHANGING = frozenset(
    "append extend insert pop popleft appendleft remove clear update add discard setdefault".split()
)


class State:
    """The state that one module's `tf.py_function`s share."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def changed_by(self, call: ast.Call) -> str | None:
        """What of the outside a call's function changes, if it's one thing; None too where that isn't seen."""
        if self.module.names.of(call.func) not in PYTHON:
            return None
        function = argument(call, "func", 0)
        origins = self.module.values.origins(function) if function is not None else []
        found = {name for o in origins if isinstance(o.node, CALLABLES) for name in self._changed(o.node)}
        return found.pop() if len(found) == 1 and len(origins) == 1 else None

    def _changed(self, function: ast.AST) -> Iterator[str]:
        """`total` of `global total; total += 1`, `self.seen` of `self.seen = x`, `rows` of `rows.append(x)`."""
        outer = {
            name for n in ast.walk(function) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names
        }
        for n in ast.walk(function):
            match n:
                case ast.Name(ctx=ast.Store()) if n.id in outer:
                    yield n.id
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    if self._is_outside(n.value, function):
                        yield ast.unparse(n if isinstance(n, ast.Attribute) else n.value)
                case ast.Call(func=ast.Attribute(attr=method) as func) if method in _CHANGING:
                    if self._is_outside(func.value, function):
                        yield ast.unparse(func.value)

    def _is_outside(self, e: ast.expr, function: ast.AST) -> bool:
        """Whether an expression hangs on a name that isn't the function's own, but may be `self`."""
        while isinstance(e, (ast.Attribute, ast.Subscript)):
            e = e.value
        if not isinstance(e, ast.Name):
            return False
        own = self.module.scopes.lookup(e.id, e)
        is_self = isinstance(function, FUNCTIONS) and self.module.syntax.method_class(function) is not None
        return own is not function or (is_self and e.id == "self")
