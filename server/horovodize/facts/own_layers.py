"""The layers of a module's own that rows go through when a model is called: Keras calls their `call`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.summary.module import Module
from horovodize.summary.syntax import FUNCTIONS, Function

_LAYERS = {"tensorflow.keras.layers.Layer", "tensorflow.keras.Model", "tensorflow.Module"}
_CALLED = ("call", "__call__")
_MOST = 600


def methods_called(module: Module, called: ast.expr) -> Iterator[Function]:
    """The methods by which what is called, and the layers that it is made of, compute what they give."""
    seen = set[ast.ClassDef]()
    for node in module.values.depends([called], _MOST):
        cls = module.values.callee(node) if isinstance(node, ast.Call) else None
        if isinstance(cls, ast.ClassDef) and cls not in seen and _LAYERS & module.values.ancestors(cls):
            seen.add(cls)
            yield from (s for s in cls.body if isinstance(s, FUNCTIONS) and s.name in _CALLED)


__all__ = ["methods_called"]
