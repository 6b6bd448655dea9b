"""Messages that are not of the protocol: their parameters come as objects without a type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def value_at(params: Any, *names: str) -> Any:
    """A value inside parameters, by the names on the way to it; None where there is none."""
    for name in names:
        params = params.get(name) if isinstance(params, Mapping) else getattr(params, name, None)
    return params
