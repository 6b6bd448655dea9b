"""What a rank's tape computes and what its optimizer then applies, in the first steps: from all ranks' together it can be told
whether gradients are averaged or added up, however a script does that.

Gradients that are sparse, and steps of sessions, are not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from horovodize_hooks import kinds
from horovodize_hooks.kinds import is_variable, plain

STEPS = 3  # so many are kept
VALUES = 32  # so many of each variable


class Averaging:
    """steps  of each: "own", the gradients of this rank, and "applied", the first values of each variable."""

    def __init__(self) -> None:
        self.steps: list[dict[str, list[float]]] = []
        self._own: dict[int, Any] = {}
        self._since = True  # whether a tape has computed any since the last step
        self._held: list[Any] = []  # so that no other object gets the identity of a variable

    def install(self) -> None:
        tf.GradientTape.gradient = self._around_gradient(tf.GradientTape.gradient)
        for cls in kinds.BY_PAIRS:
            cls.apply_gradients = self._around_pairs(cls.apply_gradients)
        for cls in kinds.BY_LISTS:
            cls.apply = self._around_lists(cls.apply)

    def _around_gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @tf.autograph.experimental.do_not_convert
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(tape, target, sources, *args, **kwargs)
            variables = tf.nest.flatten(sources)
            if all(map(is_variable, variables)):
                self._note(tf.nest.flatten(found), variables, self._computed)
            return found

        return gradient

    def _around_pairs(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(grads_and_vars)
            self._note([g for g, _ in pairs], [v for _, v in pairs], self._applied)
            return original(optimizer, pairs, *args, **kwargs)

        return apply_gradients

    def _around_lists(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            gradients = list(grads)
            variables = None if trainable_variables is None else list(trainable_variables)
            known = getattr(optimizer, "_trainable_variables", ()) if variables is None else variables
            self._note(gradients, known, self._applied)
            return original(optimizer, gradients, variables)

        return apply

    def _note(self, gradients: Any, variables: Any, keep: Callable[[dict[int, Any]], None]) -> None:
        """Keeps some values of gradients, now or, in a traced function, whenever it runs."""
        if len(self.steps) >= STEPS or not ops.executing_eagerly_outside_functions():
            return
        pairs = [
            (gradient, plain(variable))
            for gradient, variable in zip(gradients, variables, strict=False)
            if isinstance(gradient, tf.Tensor) and gradient.dtype.is_floating
        ]
        if not pairs:
            return
        self._held.append(pairs)
        keys = [id(variable) for _, variable in pairs]
        parts = [tf.cast(tf.reshape(gradient, [-1])[:VALUES], tf.float32) for gradient, _ in pairs]
        if tf.executing_eagerly():
            keep({key: part.numpy() for key, part in zip(keys, parts, strict=True)})
        else:
            tf.numpy_function(lambda *values: keep(dict(zip(keys, values, strict=True))), parts, [])

    def _computed(self, values: dict[int, Any]) -> None:
        self._own.update(values)
        self._since = True

    def _applied(self, values: dict[int, Any]) -> None:
        """The optimizers within one that wraps them apply the same step: the last of them is told of what is really applied."""
        if values.keys() - self._own.keys() or (self._since and len(self.steps) >= STEPS):
            return
        step = {
            name: [float(value) for value in np.concatenate([held[key] for key in values])]
            for name, held in (("own", self._own), ("applied", values))
        }
        if self._since:
            self.steps.append(step)
        else:
            self.steps[-1] = step
        self._since = False
