"""Layers that bind batches: whose state goes on from one to the next, or that are built for one size of them."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from horovodize.python.syntax import says_none
from horovodize.summary.sites import MODEL

if TYPE_CHECKING:
    from horovodize.summary.feeding import Driver, Feeding


class BoundBatches:
    """Such layers of one module, and what is trained with them."""

    def __init__(self, feeding: Feeding) -> None:
        self.feeding, self.module = feeding, feeding.module
        self.syntax, self.values, self.names = feeding.syntax, feeding.values, feeding.names

    def is_stateful(self, data: ast.expr) -> bool:
        """Whether a recurrent layer of the model that is trained on data carries its state from batch to batch: the order of
        rows then means something."""
        return self._concern(self._stateful, data)

    def carries_layers_state(self, driver: Driver) -> bool:
        """The same of the model that a hand-written loop trains."""
        return self._are_in(
            self._stateful, [f.model for f in self.feeding.sites.fits if f.call in driver.steps]
        )

    def has_fixed_batch(self, data: ast.expr) -> bool:
        """Whether the model that is trained on data is built for one batch size, so that a last smaller batch is an error."""
        return self._concern(self._of_fixed_batch, data)

    def _concern(self, layers: list[ast.Call], data: ast.expr) -> bool:
        """Whether some of these layers may be in a model that is trained on data: where it can't be told, they are."""
        return self._are_in(layers, [fed.fit.model for fed in self.feeding.fits if fed.x is data])

    def _are_in(self, layers: list[ast.Call], trained: list[ast.expr]) -> bool:
        """Whether some layers may be in models: in others that are not known, where none is given."""
        if not layers or not trained:
            return bool(layers)
        made = [set(self.values.calls(model)) & self._models.keys() for model in trained]
        for layer in layers:
            owners = {model for model, parts in self._models.items() if layer in parts}
            if not owners or any(not models or models & owners for models in made):
                return True
        return False

    @cached_property
    def _models(self) -> dict[ast.Call, set[ast.AST]]:
        """The models of the module, by the calls that make them, each with what it is made of."""
        made = [c for c in self.syntax.calls if MODEL in self.values.made_by(c)]
        found = {c: set(self.values.depends([c])) for c in made}
        for call in self.module.calls_written.get(".add"):
            assert isinstance(call.func, ast.Attribute)
            for model in self.values.calls(call.func.value):
                if model in found:
                    found[model].update(self.values.depends(call.args))
        return found

    @cached_property
    def _stateful(self) -> list[ast.Call]:
        return [
            c
            for c in self.syntax.calls
            for k in c.keywords
            if k.arg == "stateful" and isinstance(k.value, ast.Constant) and k.value.value is True
        ]

    @cached_property
    def _of_fixed_batch(self) -> list[ast.Call]:
        found: list[ast.Call] = []
        for call in self.syntax.calls:
            for k in call.keywords:
                shape = k.arg in ("batch_input_shape", "batch_shape") and isinstance(
                    k.value, (ast.Tuple, ast.List)
                )
                size = k.arg == "batch_size" and self.names.last(call.func) in ("Input", "InputLayer")
                first = k.value.elts[:1] if shape else [k.value] if size else []  # type: ignore[attr-defined]
                found += [call for e in first if not says_none(e)]
        return found
