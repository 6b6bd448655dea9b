"""The layers of a module's own that rows go through when a model is called: Keras calls their `call`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.summary.module import Module
from horovodize.summary.syntax import FUNCTIONS, Function

_CALLED_BY_KERAS = {
    "tensorflow.keras.layers.Layer",
    "tensorflow.keras.Model",
    "tensorflow.keras.losses.Loss",
    "tensorflow.Module",
}
_CALLED = ("call", "__call__")
_MOST = 600


def own_methods(module: Module, made: ast.AST) -> Iterator[Function]:
    """The methods by which what a call makes, of a class of this module, computes what it gives."""
    cls = module.values.callee(made) if isinstance(made, ast.Call) else None
    if isinstance(cls, ast.ClassDef) and _CALLED_BY_KERAS & module.values.ancestors(cls):
        yield from (s for s in cls.body if isinstance(s, FUNCTIONS) and s.name in _CALLED)


def methods_called(module: Module, called: ast.expr) -> Iterator[Function]:
    """The methods by which what is called, and the layers that it is made of, compute what they give."""
    seen = set[Function]()
    for node in module.values.depends([called], _MOST):
        for method in own_methods(module, node):
            if method not in seen:
                seen.add(method)
                yield method


__all__ = ["methods_called", "own_methods"]
