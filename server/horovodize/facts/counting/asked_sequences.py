"""The sequences of a program's own that are asked for each batch, by their `__getitem__`: by `fit`, or by a loop."""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver, Feeding
from horovodize.summary.kinds import Kind


class AskedSequences:
    """Those of one module."""

    def __init__(self, module: Module, feeding: Feeding) -> None:
        self.module, self.feeding = module, feeding

    @cached_property
    def methods(self) -> list[Function]:
        """The methods that `fit` asks for the batches that it trains on."""
        found = dict[Function, None]()
        for fed in self.feeding.fits:
            if fed.x is None or fed.kind is not Kind.SEQUENCE or fed.fit.method == "train_on_batch":
                continue
            for made in self.module.values.calls(fed.x):
                method = self._asked(self.module.values.callee(made))
                if method is not None:
                    found[method] = None
        return list(found)

    @cached_property
    def by_loops(self) -> dict[Function, set[Driver]]:
        """The methods that loops ask for the batches of their steps, `x, y = batches[i]`, each with those loops."""
        found = dict[Function, set[Driver]]()
        for driver in self.feeding.drivers:
            turn = _names(driver.loop.target) if isinstance(driver.loop, (ast.For, ast.AsyncFor)) else set()
            for n in (n for s in driver.loop.body for n in walk(s) if turn):
                if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) and turn & _names(n.slice):
                    for made in self.module.values.calls(n.value):
                        method = self._asked(self.module.values.callee(made))
                        if method is not None:
                            found.setdefault(method, set()).add(driver)
        return found

    def _asked(self, cls: ast.AST | None) -> Function | None:
        """The method of a class, or of the nearest of its bases that has one."""
        if not isinstance(cls, ast.ClassDef):
            return None
        for owner in sorted(self.module.values.family(cls), key=lambda c: (c is not cls, -c.lineno)):
            for s in owner.body:
                if isinstance(s, FUNCTIONS) and s.name == "__getitem__":
                    return s
        return None


def _names(e: ast.AST) -> set[str]:
    return {n.id for n in walk(e) if isinstance(n, ast.Name)}


__all__ = ["AskedSequences"]
