"""What Keras' loops return: histories of `fit`, losses of `train_on_batch`, results of `evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from horovodize_hooks.kinds import MODELS
from horovodize_hooks.values import scalar


class Losses:
    def __init__(self) -> None:
        self.fits: list[dict[str, list[float]]] = []
        self.batches: list[list[float]] = []
        self.evaluations: list[list[float]] = []
        self._inside = False

    def install(self) -> None:
        for name, note in (
            ("fit", lambda found: self.fits.append(_history(found))),
            ("train_on_batch", lambda found: self.batches.append(_flat(found))),
            ("evaluate", lambda found: self.evaluations.append(_flat(found))),
        ):
            for cls in MODELS:
                setattr(cls, name, self._around(getattr(cls, name), note))

    def report(self) -> dict[str, Any]:
        return {"fits": self.fits, "batches": self.batches, "evaluations": self.evaluations}

    def _around(self, original: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
        def method(model: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside:  # fit validates by calling evaluate
                return original(model, *args, **kwargs)
            self._inside = True
            try:
                result = original(model, *args, **kwargs)
            finally:
                self._inside = False
            note(result)
            return result

        return method


def _history(history: Any) -> dict[str, list[float]]:
    return {name: [scalar(value) for value in values] for name, values in history.history.items()}


def _flat(result: Any) -> list[float]:
    if isinstance(result, dict):
        result = list(result.values())
    return [scalar(value) for value in result] if isinstance(result, (list, tuple)) else [scalar(result)]
