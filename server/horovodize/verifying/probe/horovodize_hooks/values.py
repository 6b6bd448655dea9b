"""Variables as plain numbers, so that reports need no NumPy to be read."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterable
from typing import Any

import numpy as np

most = 0  # so many values of a variable are kept, evenly spread; 0: all


def numbers(variables: Iterable[Any]) -> list[dict[str, Any]]:
    """Name, shape and values (flat, as floats) of TensorFlow variables, in their order. Must run eagerly."""
    return of_arrays((variable.name, variable.numpy()) for variable in variables)


def of_arrays(named: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The same for NumPy arrays and their names. What is not made of numbers (texts) is left out."""
    return [
        {"name": name, "shape": list(array.shape), "values": [float(value) for value in _spread(array)]}
        for name, array in named
        if array.dtype.kind not in "OSU"
    ]


def _spread(array: Any) -> Any:
    flat = array.ravel()
    return flat[:: -(-len(flat) // most)] if 0 < most < len(flat) else flat


def scalar(value: Any) -> float:
    """A tensor, variable, NumPy value or number as a float; of a metric with a number for each class, their mean."""
    return float(np.mean(value.numpy() if hasattr(value, "numpy") else value))


def instances(cls: type | tuple[type, ...]) -> list[Any]:
    """Every object of a class (of one of several), and of those that derive from it, that is still there."""
    things = gc.get_objects()
    kinds = {kind for kind in set(map(type, things)) if _derives(kind, cls)}
    return [thing for thing in things if type(thing) in kinds] if kinds else []


@functools.cache
def _derives(kind: type, cls: type | tuple[type, ...]) -> bool:
    return issubclass(kind, cls)
