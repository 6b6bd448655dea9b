"""Which metrics of `fit` Horovod's `MetricAverageCallback` has averaged: what `fit` keeps in its history is then the same on
all ranks, for Keras keeps it after the callbacks that `fit` is given."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.sites import Sites

_AVERAGES = "MetricAverageCallback"
_LIMIT = 200


class FitMetrics:
    """The metrics of the fits of one module."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.fits = module, [f for f in sites.fits if f.method != "train_on_batch"]

    def are_averaged(self, fit: ast.AST) -> bool:
        """Whether those of a `fit` are."""
        if not isinstance(fit, ast.Call) or not self.module.calls_called(_AVERAGES):
            return False
        given = argument(fit, "callbacks", 5 if self.module.names.last(fit.func) == "fit" else None)
        made = self.module.values.depends([given], _LIMIT) if given is not None else ()
        return any(isinstance(n, ast.Call) and self.module.names.last(n.func) == _AVERAGES for n in made)

    def are_averaged_of(self, history: ast.Attribute) -> bool:
        """Whether those of `model.fit(…).history`, `model.history` are: of the fits that it may be of."""
        made = set(self.module.values.calls(history.value))
        fits = [f.call for f in self.fits if f.call in made] or [f.call for f in self.fits]
        return bool(fits) and all(map(self.are_averaged, fits))


__all__ = ["FitMetrics"]
