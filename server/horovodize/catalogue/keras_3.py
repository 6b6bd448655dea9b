"""What Keras 3 has otherwise than the Keras 2 that the catalogue is made from. `generate_keras_3.py` writes `keras_3.json`."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

_FILE = os.path.join(os.path.dirname(__file__), "keras_3.json")
_SHORT = (
    "optimizers.",
    "losses.",
    "metrics.",
    "initializers.",
)  # Keras' under a shorter name of TensorFlow's
_OPTIMIZERS = "tensorflow.keras.optimizers."


@cache
def _load() -> dict[str, Any]:
    with open(_FILE, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


@cache
def _gone() -> frozenset[str]:
    return frozenset(
        f"{module}.{last}"
        for root in _load()["gone"].values()
        for module, lasts in root.items()
        for last in lasts.split(" ")
    )


def gone_in_keras_3(written: str) -> str | None:
    """The beginning of a dotted name, as a script spells it from its import on, that Keras 3 does not have. None where it has
    all of it, or Keras 2 had not. The package `keras` and `tf.keras` differ: only one of them has `backend.mean`."""
    first, _, rest = written.partition(".")
    if first == "tensorflow" and rest.startswith(_SHORT):
        written = f"tensorflow.keras.{rest}"
    if not written.startswith(("keras.", "tensorflow.keras.")):
        return None
    parts = written.split(".")
    beginnings = (".".join(parts[:end]) for end in range(2, len(parts) + 1))
    return next((name for name in beginnings if name in _gone()), None)


def rate_in_keras_3(class_name: str, rate: float | None) -> float | None:
    """The rate of an optimizer that is given none, which is `rate` in Keras 2."""
    if not class_name.startswith(_OPTIMIZERS):
        return rate
    differs = _load()["optimizers"].get(class_name.removeprefix(_OPTIMIZERS), {}).get("learning_rate")
    return float(differs[1]) if differs else rate
