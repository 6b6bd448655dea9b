"""Data sets of which only the first rows are read, before a script divides them."""

from __future__ import annotations

from typing import Any


def shorten(rows: int) -> list[str]:
    """Has what reads a whole data set give its first `rows` only. Returns the list of what was shortened so far."""
    import numpy as np
    import tensorflow as tf

    def first(found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(first(part) for part in found)
        return found[:rows] if isinstance(found, np.ndarray) and found.ndim else found

    shortened: list[str] = []

    def around(module: Any, name: str, limit: Any) -> None:
        original = getattr(module, name, None)
        if original is None:
            return

        told = f"{getattr(module, '__name__', module)}.{name}".rsplit("_v2.", maxsplit=1)[-1]

        def read(*args: Any, **kwargs: Any) -> Any:
            if told not in shortened:
                shortened.append(told)
            return limit(original(*args, **kwargs))

        setattr(module, name, read)

    for name in dir(tf.keras.datasets):
        if not name.startswith("_"):
            around(getattr(tf.keras.datasets, name), "load_data", first)
    for name in ("loadtxt", "genfromtxt"):
        around(np, name, first)
    try:
        import pandas
    except ImportError:
        return shortened
    around(pandas, "read_csv", lambda table: table.head(rows) if hasattr(table, "head") else table)
    return shortened
