"""The kinds of training loop, and what a file is when it holds several.

The seed has GradTape | Optimizer | bottom; its authors' tool joins Unknown < {Session, MonitoredSession, GradientTape,
Keras} < Multiple. This lattice holds both readings: NONE is the bottom, MULTIPLE the top, the loop kinds lie between,
unordered. Code that is distributed already absorbs what it distributes: Horovod around a Keras loop is HOROVOD.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class LoopKind(str, Enum):
    """How a module trains. The values are those of `summary --format json`."""

    NONE = "none"
    KERAS = "keras"
    GRADIENT_TAPE = "gradient_tape"
    SESSION = "session"
    MONITORED_SESSION = "monitored_session"
    ESTIMATOR = "estimator"
    MULTIPLE = "multiple"
    HOROVOD = "horovod"
    OTHER_FRAMEWORK = "other_framework"

    @property
    def label(self) -> str:
        """What the kind is called in a sentence."""
        return _TITLES[self]


_TITLES = {
    LoopKind.NONE: "no training loop",
    LoopKind.KERAS: "Keras",
    LoopKind.GRADIENT_TAPE: "GradientTape",
    LoopKind.SESSION: "Session",
    LoopKind.MONITORED_SESSION: "MonitoredSession",
    LoopKind.ESTIMATOR: "Estimator",
    LoopKind.MULTIPLE: "several kinds",
    LoopKind.HOROVOD: "Horovod",
    LoopKind.OTHER_FRAMEWORK: "another distribution framework",
}


def join(kinds: Iterable[LoopKind]) -> LoopKind:
    """The least kind above all of them."""
    found = set(kinds) - {LoopKind.NONE}
    for absorbing in (LoopKind.HOROVOD, LoopKind.OTHER_FRAMEWORK):
        if absorbing in found:
            return absorbing
    if not found:
        return LoopKind.NONE
    return found.pop() if len(found) == 1 else LoopKind.MULTIPLE
