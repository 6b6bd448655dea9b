"""Variables as plain numbers, so that reports need no NumPy to be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def numbers(variables: Iterable[Any]) -> list[dict[str, Any]]:
    """Name, shape and values (flat, as floats) of TensorFlow variables, in their order. Must run eagerly."""
    result = []
    for variable in variables:
        array = variable.numpy()
        result.append(
            {
                "name": variable.name,
                "shape": list(array.shape),
                "values": [float(value) for value in array.ravel()],
            }
        )
    return result


def scalar(value: Any) -> float:
    """A tensor, variable, NumPy value or number as a float."""
    return float(value.numpy() if hasattr(value, "numpy") else value)
