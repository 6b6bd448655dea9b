"""What Keras' own callbacks decide by: the values that `EarlyStopping` and `ReduceLROnPlateau` look at, epoch by epoch.

Ranks may come to the same decision from different values by chance, in a run that is short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from horovodize_hooks.values import scalar

DECIDING = ("EarlyStopping", "ReduceLROnPlateau")


class Decisions:
    """seen: for each time that one of them looked, its class, the name of the value, and the value."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, float]] = []

    def install(self) -> None:
        for name in DECIDING:
            cls = getattr(tf.keras.callbacks, name)
            cls.on_epoch_end = self._around(name, cls.on_epoch_end)

    def _around(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def on_epoch_end(callback: Any, epoch: int, logs: Any = None) -> Any:
            value = (logs or {}).get(callback.monitor)
            if value is not None:
                self.seen.append((name, str(callback.monitor), scalar(value)))
            return original(callback, epoch, logs)

        return on_epoch_end
