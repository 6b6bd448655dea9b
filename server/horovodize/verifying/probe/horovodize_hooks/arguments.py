"""The examples of loops written by hand that slice arrays by themselves: what a `tf.function` that trains is called with, and
what models are given under an eager tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from horovodize_hooks.examples import Rows
from horovodize_hooks.kinds import Model, is_variable


class Arguments:
    def __init__(self) -> None:
        self.eager = Rows()
        self._functions: dict[int, tuple[Any, Rows]] = {}
        self._training: set[int] = set()
        self._stack: list[Any] = []
        self._given: list[Any] = []
        self._inside_model = False

    def install(self) -> None:
        polymorphic_function.Function.__call__ = self._around_call(polymorphic_function.Function.__call__)
        Model.__call__ = self._around_model(Model.__call__)
        tf.GradientTape.__enter__ = self._around_enter(tf.GradientTape.__enter__)
        tf.GradientTape.gradient = self._around_gradient(tf.GradientTape.gradient)

    def report(self) -> dict[str, Any]:
        functions = [rows.report() for key, (_, rows) in self._functions.items() if key in self._training]
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
            if self._inside_model or not tf.executing_eagerly():
                return original(model, *args, **kwargs)
            self._given = self._given or _batch(args)
            self._inside_model = True
            try:
                return original(model, *args, **kwargs)
            finally:
                self._inside_model = False

        return __call__

    def _around_enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(tape: Any) -> Any:
            self._given = []
            return original(tape)

        return __enter__

    def _around_gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @tf.autograph.experimental.do_not_convert
        def gradient(tape: Any, *args: Any, **kwargs: Any) -> Any:
            if self._stack:
                self._training.add(id(self._stack[0]))
            elif self._given and tf.executing_eagerly():
                self.eager.note(*self._given)
                self._given = []
            return original(tape, *args, **kwargs)

        return gradient


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
