"""Which expressions surely are Keras models."""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.python.module import Module
from horovodize.summary.sites import MODEL, Sites


class KnownModels:
    """The Keras models of one module."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites

    def is_one(self, receiver: ast.expr) -> bool:
        """Whether an expression surely is a Keras model: it is made as one, or it is compiled or fitted somewhere."""
        m = self.module
        if MODEL in m.values.class_names(receiver):
            return True
        owner, text = m.syntax.owner(receiver), ast.unparse(receiver)
        base = {"self": MODEL, "self.model": "tensorflow.keras.callbacks.Callback"}.get(text)
        if owner is not None and base is not None and base in m.values.ancestors(owner):
            return True
        if any(
            m.names.last(c.func) in ("load_model", "clone_model", "model_from_json")
            for c in m.values.calls(receiver)
        ):
            return True
        return text in self._model_texts

    @cached_property
    def _model_texts(self) -> set[str]:
        return {ast.unparse(c.model) for c in self.sites.compiles} | {
            ast.unparse(f.model) for f in self.sites.fits
        }
