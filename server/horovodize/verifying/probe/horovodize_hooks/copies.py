"""Moving averages of weights, and other copies that follow them: by how much they do in a step.

Such variables are in no optimizer's care, and nothing tells them from others but what they do: after a step, what was added
to one is a part of its distance from the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from horovodize_hooks.kinds import Metric, held, is_variable, plain
from horovodize_hooks.values import instances

_LEAST = 3  # numbers in a variable: one or two may follow by chance
_MOST = 200_000  # together, of those that are looked at
_NEAR = 0.3  # how far what was added may be from such a part, by its own length: rounding of small parts
_STATISTICS = (
    "moving_mean",
    "moving_variance",
    "moving_var",
)  # of batches: they follow those, each rank its own
_SAME = 4  # so many variables of one shape are tried at most


class Copies:
    """Those of what one optimizer trains. parts: of each that followed in some step, its number and name, and by which part."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []
        self._before: dict[int, Any] = {}
        self._weights: list[Any] = []
        self._numbers: dict[int, int] = {}

    def note(self, trained: list[Any], others: list[Any]) -> None:
        """Looks at all variables, after a step. others: what the optimizer keeps for itself."""
        weights = [np.asarray(v.numpy(), np.float64) for v in trained]
        now = {id(v): (v.name, np.asarray(v.numpy(), np.float64)) for v in _candidates(trained, others)}
        for key, (name, value) in now.items():
            before = self._before.get(key)
            if before is not None and (part := self._followed(before[1], value, weights)) is not None:
                number = self._numbers.setdefault(key, len(self._numbers))
                self.parts.append({"number": number, "name": name, "part": part})
        self._before, self._weights = now, weights

    def _followed(self, before: Any, after: Any, weights: list[Any]) -> float | None:
        added = after - before
        length = float(np.linalg.norm(added))
        if not length or not np.isfinite(length):
            return None
        best: tuple[float, float] | None = None
        alike = [w for w in (*weights, *self._weights) if w.shape == before.shape]
        for one in alike[: 2 * _SAME]:
            way = one - before
            square = float((way * way).sum())
            if not square:
                continue
            part = float((added * way).sum()) / square
            off = float(np.linalg.norm(added - part * way)) / length
            if 0 < part < 0.9 and off < _NEAR and (best is None or off < best[0]):
                best = off, part
        return best[1] if best is not None else None


def _candidates(trained: list[Any], others: list[Any]) -> list[Any]:
    """All variables of a shape that some trained one has, but for these, an optimizer's own and metrics'."""
    shapes = {tuple(v.shape) for v in trained if int(np.prod(v.shape)) >= _LEAST}
    known = {id(v) for v in (*trained, *others)} | {
        id(v) for metric in instances(Metric) for v in held(metric)
    }
    found: dict[int, Any] = {}
    size = 0
    for thing in instances(tf.Variable):
        variable = plain(thing)
        if id(variable) in known or id(variable) in found or not is_variable(variable):
            continue
        if not variable.dtype.is_floating or tuple(variable.shape) not in shapes:
            continue
        if any(kind in variable.name for kind in _STATISTICS) or not _has_value(variable):
            continue
        size += int(np.prod(variable.shape))
        if size > _MOST:
            break
        found[id(variable)] = variable
    return list(found.values())


def _has_value(variable: Any) -> bool:
    """Whether a variable has a value now: one of a graph has none outside of its sessions."""
    return isinstance(getattr(variable, "handle", None), tf.__internal__.EagerTensor)
