"""The layers of a module's own that rows go through when a model is called: Keras calls their `call`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function

_CALLED_BY_KERAS = {
    "tensorflow.keras.layers.Layer",
    "tensorflow.keras.Model",
    "tensorflow.keras.losses.Loss",
    "tensorflow.Module",
}
_CALLED = ("call", "__call__")
_KNOWN = {"tensorflow", "keras", "tf_keras", "numpy", "builtins", "math"}
_MOST = 600
_FAR = 3000


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


def unseen_layers(module: Module, expressions: Iterable[ast.AST]) -> Iterator[ast.Call]:
    """Where layers of other libraries are made that expressions are computed by: what those do with rows can't be told.

    `self.conv = graphs.Convolution(16)`, where `self.conv([rows, edges])` is part of what a model gives"""
    todo, seen = list(expressions), set[ast.AST]()
    while todo:
        for node in module.values.depends(todo, _FAR):
            if isinstance(node, ast.Call) and node not in seen:
                seen.add(node)
                made = module.values.calls(node.func) if module.values.callee(node) is None else ()
                yield from (c for c in made if is_unseen(module, c))
        todo = [
            r
            for n in list(seen)
            for m in own_methods(module, n)
            if m not in seen
            for r in _returned(module, m, seen)
        ]


def is_unseen(module: Module, made: ast.Call) -> bool:
    """Whether what is made is of a library that isn't TensorFlow's."""
    name = module.names.of(made.func)
    return name is not None and name.split(".")[0] not in _KNOWN and module.values.callee(made) is None


def _returned(module: Module, method: Function, seen: set[ast.AST]) -> Iterator[ast.expr]:
    seen.add(method)
    yield from module.values.returned(method)


__all__ = ["is_unseen", "methods_called", "own_methods", "unseen_layers"]
