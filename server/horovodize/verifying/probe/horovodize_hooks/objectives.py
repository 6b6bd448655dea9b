"""The losses whose gradients are taken with respect to variables, step by step: what is minimized, however it is trained.

Eagerly and in a `tf.function` it is what a tape's `gradient` is asked for, in Keras' own loops too. What sessions minimize is
noted in `sessions`. Off unless asked for: in a traced function the note is an operation more, which shifts the seeds of
those that come after."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from horovodize_hooks.kinds import all_plain, is_variable


class Objectives:
    """The losses of each set of variables that is trained, in the order in which they were first met."""

    def __init__(self, after: Callable[[int], None] = lambda steps: None) -> None:
        """after: called with the number of losses so far, of the same variables, each time one more is noted."""
        self._after = after
        self.steps = 0  # of all variables
        self._times: dict[tuple[int, ...], list[float]] = {}
        self._losses: dict[tuple[int, ...], list[float]] = {}
        self._held: list[Any] = []  # so that no other object gets the identity of a variable

    def install(self) -> None:
        tf.GradientTape.gradient = self._around(tf.GradientTape.gradient)

    def report(self) -> list[list[float]]:
        return [losses for losses in self._losses.values() if losses]

    def times(self) -> list[list[float]]:
        """When each of these losses was noted, in seconds."""
        return [times for times in self._times.values() if times]

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @tf.autograph.experimental.do_not_convert
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(tape, target, sources, *args, **kwargs)
            flat = tf.nest.flatten(sources)
            if flat and all(is_variable(source) for source in flat):
                self._note(target, all_plain(flat))
            return found

        return gradient

    def _note(self, target: Any, variables: list[Any]) -> None:
        self._held.append(variables)
        key = tuple(id(variable) for variable in variables)
        losses, times = self._losses.setdefault(key, []), self._times.setdefault(key, [])

        def add(value: Any) -> None:
            losses.append(float(value))
            times.append(time.monotonic())
            self.steps += 1
            self._after(len(losses))

        parts = [tf.reduce_mean(tf.cast(part, tf.float32)) for part in tf.nest.flatten(target)]
        total = tf.add_n(parts)
        if tf.executing_eagerly():
            add(total)
        else:
            tf.numpy_function(add, [total], [])
