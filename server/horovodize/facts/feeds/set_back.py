"""Training whose steps are part of a method: weights are kept before them, and set by what came of them (Reptile, averages of
several trainings, a trial that is taken back). How many steps there are is no budget then, which ranks could divide."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.summary.feeding import Driver
from horovodize.summary.sites import Sites


class SetBack:
    """Where the loops of one module set weights back."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites, self.syntax = module, sites, module.syntax

    def place(self, driver: Driver) -> ast.AST | None:
        """The `model.set_weights(…)` that each turn of a loop around a training loop comes to, after it has kept the weights
        with `model.get_weights()` and trained; None where there is none."""
        kept = list(self.module.calls_written.get(".get_weights"))
        if not kept:
            return None
        models = {
            ast.unparse(v.value)
            for u in self.sites.updates
            if u.call in driver.steps
            for v in u.variables
            if isinstance(v, ast.Attribute)
        }
        for outer in self.syntax.loops(driver.loop):
            at = next(
                (
                    i
                    for i, s in enumerate(outer.body)
                    if s is driver.loop or self.syntax.inside(driver.loop, s)
                ),
                None,
            )
            if at is None:
                continue
            before = [
                c for c in kept if any(self.syntax.inside(c, s) for s in outer.body[:at]) and _of(c) in models
            ]
            set_after = (
                s.value
                for s in outer.body[at + 1 :]
                if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)
            )
            for call in set_after if before else ():
                if (
                    isinstance(call.func, ast.Attribute)
                    and call.func.attr == "set_weights"
                    and _of(call) in models
                ):
                    return call
        return None


def _of(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
