"""Data sets whose elements come in another order each time that something goes through them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS
from horovodize.summary.sites import Sites

_SHUFFLES = ("shuffle", "shuffle_and_repeat")
_GENERATED = ("tensorflow.data.Dataset.from_generator", "tensorflow.compat.v1.data.Dataset.from_generator")
_OTHERS = ("numpy.", "random.", "sklearn.")  # have functions of these names, too
_PASSING_ON = ("enumerate", "zip", "iter", "reversed", "tqdm")
_LIMIT = 400


class DrawnOrders:
    """The data sets of one module."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites

    def is_drawn_anew(self, e: ast.expr) -> bool:
        """Whether what goes through a data set moves its order on: one rank that does so once more than the others has other
        orders from there on, and where each takes its part of them, rows are seen twice or never. Not so of what is computed
        from its rows."""
        return bool(self._made) and any(n in self._made for n in self._along(e))

    def _along(self, e: ast.expr) -> Iterator[ast.AST]:
        """The calls that a pipeline is made by, from its end on: `data.shuffle(9).batch(2)`, `enumerate(data)`."""
        todo, seen = [e], set[ast.AST]()
        while todo and len(seen) < _LIMIT:
            n = todo.pop()
            if n in seen:
                continue
            seen.add(n)
            if isinstance(n, (ast.Name, ast.Attribute)):
                todo += [o.node for o in self.module.values.origins(n) if isinstance(o.node, ast.expr)]
            elif isinstance(n, ast.Call):
                yield n
                callee = self.module.values.callee(n)
                if isinstance(callee, FUNCTIONS):
                    todo += self.module.values.returned(callee)
                elif isinstance(n.func, ast.Attribute) and self.module.names.of(n.func) is None:
                    todo.append(n.func.value)
                elif isinstance(n.func, ast.Name) and n.func.id in _PASSING_ON:
                    todo += n.args

    @cached_property
    def _made(self) -> frozenset[ast.AST]:
        """The calls that put a data set in an order, or make one of a generator, which may draw its own."""
        calls = (*self.sites.method_calls(*_SHUFFLES), *self.module.calls_of(*_GENERATED))
        return frozenset(c for c in calls if not (self.module.names.of(c.func) or "").startswith(_OTHERS))
