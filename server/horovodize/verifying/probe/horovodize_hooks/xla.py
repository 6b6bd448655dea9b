"""Functions that XLA compiles (`jit_compile=True`): as it can't compile the notes that a probe takes, it is turned off in them.

Horovod's operations can't be compiled either. There a script would stop, so it does."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

_UNCOMPILED = (
    "`jit_compile=True` has XLA compile a function that runs Horovod's {}, which it can't: train with "
    "`jit_compile=False`"
)


class _Off(int):
    """Stands for `jit_compile=True`, and is as good as false, also where a function is saved."""


_OFF = _Off(0)


class Xla:
    """seen  whether a function ran that XLA was asked to compile"""

    def __init__(self) -> None:
        self.seen = False
        self._within = 0

    def install(self) -> None:
        function = polymorphic_function.Function
        function.__init__ = self._around_init(function.__init__)
        function.__call__ = self._around_call(function.__call__)

    def stop_at(self, collective: str) -> None:
        """Fails as TensorFlow does, where a function that XLA compiles runs a collective (unless Horovod is built for that)."""
        built = os.environ.get("HOROVOD_ENABLE_XLA_OPS", "0") not in ("0", "")
        if self._within and not tf.executing_eagerly() and not built:
            raise RuntimeError(_UNCOMPILED.format(collective))

    def _around_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(function: Any, *args: Any, jit_compile: Any = None, **kwargs: Any) -> None:
            if jit_compile:
                jit_compile = _OFF
            original(function, *args, jit_compile=jit_compile, **kwargs)

        return __init__

    def _around_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(function: Any, *args: Any, **kwargs: Any) -> Any:
            if function._jit_compile is not _OFF:
                return original(function, *args, **kwargs)
            self.seen, self._within = True, self._within + 1
            try:
                return original(function, *args, **kwargs)
            finally:
                self._within -= 1

        return __call__
