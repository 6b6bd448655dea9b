"""The variables that a script still has at its end: its own, and those of the models and modules that its names lead to.

Copies beside a model (target networks, moving averages) are in no optimizer's care; they show here. So does what is not
trained but used in training: a part with random weights that stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from horovodize_hooks import kinds
from horovodize_hooks.kinds import Layer, Metric, plain
from horovodize_hooks.values import instances, numbers

# Each rank counts for itself, and draws from where its own random numbers stand.
_EACH_ITS_OWN = (Metric, tf.random.Generator)
_OPTIMIZERS = (kinds.Optimizer, *kinds.LEGACY_OPTIMIZERS)


def kept(names: dict[str, Any]) -> list[dict[str, Any]]:
    """Name, shape and values of what a script's global names lead to; nothing in graphs, whose variables sessions hold."""
    if not tf.executing_eagerly():
        return []
    own = {id(variable) for cls in _EACH_ITS_OWN for thing in instances(cls) for variable in _held(thing)}
    found = {
        id(variable): variable for variable in _reached(names.values(), set()) if variable.dtype.is_floating
    }
    return numbers(variable for key, variable in found.items() if key not in own)


def _reached(values: Iterable[Any], seen: set[int]) -> Iterator[Any]:
    for value in list(values):
        if id(value) in seen or isinstance(value, _OPTIMIZERS):
            continue
        seen.add(id(value))
        if kinds.is_variable(value):
            yield plain(value)
        elif isinstance(value, (tf.Module, Layer)):
            yield from _held(value)
        elif isinstance(value, dict):
            yield from _reached(value.values(), seen)
        elif isinstance(value, (list, tuple)):
            yield from _reached(value, seen)
        elif type(value).__module__ == "__main__":
            yield from _reached(vars(value).values() if hasattr(value, "__dict__") else (), seen)


def _held(module: Any) -> list[Any]:
    return [variable for variable in kinds.held(module) if hasattr(variable, "numpy")]
