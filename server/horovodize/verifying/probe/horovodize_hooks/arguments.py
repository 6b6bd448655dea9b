"""The examples of loops written by hand that slice arrays by themselves: what a `tf.function` that trains is called with, and
what models are given under an eager tape. Where the function is given no rows, because the loop is within it, what models are
given under its tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.framework import ops

from horovodize_hooks.examples import Rows
from horovodize_hooks.kinds import Model, is_variable


class Arguments:
    def __init__(self) -> None:
        self.eager = Rows()
        self._functions: dict[int, tuple[Any, Rows]] = {}  # by what they are called with
        self._loops: dict[int, Rows] = {}  # those called without rows: by what models are given within them
        self._training: set[int] = set()
        self._stack: list[Any] = []
        self._given: list[Any] = []
        self._given_traced: list[Any] = []
        self._inside_model = False

    def install(self) -> None:
        polymorphic_function.Function.__call__ = self._around_call(polymorphic_function.Function.__call__)
        Model.__call__ = self._around_model(Model.__call__)
        tf.GradientTape.__enter__ = self._around_enter(tf.GradientTape.__enter__)
        tf.GradientTape.gradient = self._around_gradient(tf.GradientTape.gradient)

    def report(self) -> dict[str, Any]:
        functions = [rows.report() for key, (_, rows) in self._functions.items() if key in self._training]
        functions += [rows.report() for rows in self._loops.values()]
        return {"functions": functions, "eager": self.eager.report()}

    def _around_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(function: Any, *args: Any, **kwargs: Any) -> Any:
            if not tf.executing_eagerly() or self._stack:
                return original(function, *args, **kwargs)
            arrays = _batch((args, kwargs))
            if arrays:
                self._functions.setdefault(id(function), (function, Rows()))[1].note(*arrays)
            self._stack.append(function)
            try:
                return original(function, *args, **kwargs)
            finally:
                self._stack.pop()

        return __call__

    def _around_model(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(model: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside_model:
                return original(model, *args, **kwargs)
            if tf.executing_eagerly():
                self._given = self._given or _batch(args)
            elif self._in_a_loop():
                self._given_traced = self._given_traced or _symbolic(args)
            self._inside_model = True
            try:
                return original(model, *args, **kwargs)
            finally:
                self._inside_model = False

        return __call__

    def _around_enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(tape: Any) -> Any:
            self._given, self._given_traced = [], []
            return original(tape)

        return __enter__

    def _around_gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @tf.autograph.experimental.do_not_convert
        def gradient(tape: Any, *args: Any, **kwargs: Any) -> Any:
            if self._stack:
                self._training.add(id(self._stack[0]))
                self._note_traced()
            elif self._given and tf.executing_eagerly():
                self.eager.note(*self._given)
                self._given = []
            return original(tape, *args, **kwargs)

        return gradient

    def _in_a_loop(self) -> bool:
        """Whether a function is traced that was called without rows. (Keras' own are seen in `examples`.)"""
        return (
            bool(self._stack) and id(self._stack[0]) not in self._functions and not in_keras(self._stack[0])
        )

    def _note_traced(self) -> None:
        """Notes, as an operation, what a model has been given in the same graph."""
        given, self._given_traced = self._given_traced, []
        if not given or any(tensor.graph is not ops.get_default_graph() for tensor in given):
            return
        rows = self._loops.setdefault(id(self._stack[0]), Rows())
        tf.numpy_function(lambda *arrays: rows.note(*_batch(arrays)), given, [])


def in_keras(function: Any) -> bool:
    """Whether a traced function is one of Keras: a model's own loop."""
    module = getattr(function.python_function, "__module__", "")
    return module.partition(".")[0] in ("keras", "tf_keras")


def _symbolic(values: Any) -> list[Any]:
    """The tensors of the graph that is traced among arguments, but for numbers."""
    return [
        value
        for value in tf.nest.flatten(values)
        if isinstance(value, tf.Tensor) and hasattr(value, "graph") and value.shape.rank != 0
    ]


def _batch(values: Any) -> list[Any]:
    """The arrays among arguments that share the first axis which most of them have."""
    arrays = [
        np.asarray(value)
        for value in tf.nest.flatten(values)
        if isinstance(value, (np.ndarray, tf.Tensor)) and not is_variable(value) and np.ndim(value)
    ]
    if not arrays:
        return []
    lengths = [len(array) for array in arrays]
    usual = max(lengths, key=lengths.count)
    return [array for array in arrays if len(array) == usual]
