"""What gradients are made of: data flow from where they are applied back to the tapes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property

from horovodize.python.elements import Elements
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, arguments
from horovodize.summary.accumulators import Accumulators

_UNSCALING = "get_unscaled_gradients"  # of a loss scale: gives the gradients that it is given, divided


class GradientFlow:
    """Of one module. `method_calls`: the calls of methods by their names."""

    def __init__(self, module: Module, method_calls: Callable[..., list[ast.Call]]) -> None:
        self.module, self._method_calls = module, method_calls

    def gradient_calls(self, gradients: ast.expr) -> list[ast.Call]:
        """The `tape.gradient(…)` calls that an expression is made of: data flow back to the tapes, not through them."""
        return self.flow_from(
            gradients,
            lambda c: isinstance(c.func, ast.Attribute) and c.func.attr in ("gradient", "jacobian"),
        )

    def flow_from(self, gradients: ast.expr, is_source: Callable[[ast.Call], bool]) -> list[ast.Call]:
        """The calls that an expression is made of and that are a source: data flow back to them, not through them."""
        m, values = self.module, self.module.values
        todo: list[ast.AST] = [gradients]
        seen: set[ast.AST] = set()
        found: list[ast.Call] = []
        while todo and len(seen) < 3000:
            n = todo.pop()
            if n in seen:
                continue
            seen.add(n)
            if isinstance(n, ast.Call):
                if isinstance(n.func, ast.Attribute) and n.func.attr == _UNSCALING:
                    todo += arguments(n)
                    continue
                if is_source(n):
                    found.append(n)
                    continue
                todo += self.accumulators.through(n)
                callee = values.callee(n)
                if isinstance(callee, CALLABLES):
                    todo += values.returned(callee)
                    continue
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                for b in m.scopes.reaching(n):
                    if b.kind == "parameter":
                        todo += values.passed(b)
                    elif b.value is not None:
                        todo += self.parts(b.value, b.path)
                todo += [*self.appended(n), *self.elements.values(n)]
            elif isinstance(n, ast.Attribute):
                todo += [b.value for b in values.attribute_bindings(n) if b.value is not None]
                todo += [*values.read_by(n), *self.appended(n), *self.elements.values(n)]
            todo += [c for c in ast.iter_child_nodes(n) if not isinstance(c, ast.stmt)]
        return sorted(found, key=lambda c: (c.lineno, c.col_offset))

    def parts(self, value: ast.expr, path: tuple[int, ...]) -> list[ast.AST]:
        """Of `loss, grads = step(…)` only what the second name gets."""
        if not path:
            return [value]
        origins = list(self.module.values._follow(value, path, set()))
        return [o.node for o in origins]

    def appended(self, listed: ast.Name | ast.Attribute) -> list[ast.expr]:
        """What is appended to the list that a name or an attribute stands for."""
        return [
            c.args[-1]
            for c in self._method_calls("append", "extend")
            if c.args
            and isinstance(c.func, ast.Attribute)
            and isinstance(c.func.value, (ast.Name, ast.Attribute))
            and self.elements.are_one(c.func.value, listed)
        ]

    @cached_property
    def elements(self) -> Elements:
        return Elements(self.module)

    @cached_property
    def accumulators(self) -> Accumulators:
        return Accumulators(self.module, self._method_calls)


__all__ = ["GradientFlow"]
