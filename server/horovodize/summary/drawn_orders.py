"""Data sets whose elements come in another order each time that something goes through them."""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.summary.module import Module
from horovodize.summary.sites import Sites

_SHUFFLES = ("shuffle", "shuffle_and_repeat")
_GENERATED = ("tensorflow.data.Dataset.from_generator", "tensorflow.compat.v1.data.Dataset.from_generator")
_OTHERS = ("numpy.", "random.", "sklearn.")  # have functions of these names, too
_LIMIT = 400


class DrawnOrders:
    """The data sets of one module."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites

    def is_drawn_anew(self, e: ast.expr) -> bool:
        """Whether what goes through a data set moves its order on: one rank that does so once more than the others has other
        orders from there on, and where each takes its part of them, rows are seen twice or never."""
        return bool(self._made) and not self._made.isdisjoint(self.module.values.depends([e], _LIMIT))

    @cached_property
    def _made(self) -> frozenset[ast.AST]:
        """The calls that put a data set in an order, or make one of a generator, which may draw its own."""
        calls = (*self.sites.method_calls(*_SHUFFLES), *self.module.calls_of(*_GENERATED))
        return frozenset(c for c in calls if not (self.module.names.of(c.func) or "").startswith(_OTHERS))
