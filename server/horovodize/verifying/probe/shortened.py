"""Data sets of which only the first rows are read, before a script divides them."""

from __future__ import annotations

from typing import Any


def shorten(rows: int) -> list[str]:
    """Has what reads a whole data set give its first `rows` only. Returns what is shortened when it's called."""
    import numpy as np
    import tensorflow as tf

    def first(found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(first(part) for part in found)
        return found[:rows] if isinstance(found, np.ndarray) and found.ndim else found

    shortened = []

    def around(module: Any, name: str, limit: Any) -> None:
        original = getattr(module, name, None)
        if original is None:
            return

        def read(*args: Any, **kwargs: Any) -> Any:
            return limit(original(*args, **kwargs))

        setattr(module, name, read)
        shortened.append(f"{getattr(module, '__name__', module)}.{name}".rsplit("src.", maxsplit=1)[-1])

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
