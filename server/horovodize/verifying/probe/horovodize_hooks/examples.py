"""The examples that a script trains on, told apart by their bytes.

Keras' own loops: what reaches `Model.train_step`, and `Model.test_step`, which validates. Loops written by hand: what eager
iteration over a `tf.data` dataset yields, for each dataset on its own, where a step follows: what is only looked at, as in
a validation, is not trained on. What a script slices from arrays by itself is not seen here."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops

from horovodize_hooks.kinds import Model

MOST_PARTS = 4  # arrays of a row that are looked at each for itself


class Rows:
    """Rows (single examples) seen at one place: how often each, in the order of their first times; how large the batches were,
    how many of their rows had not come before, and what tells them apart: the same rows in any order make the same mark.

    parts  the same of each array of a row, where there are a few; without those that may be classes, or a rank's own numbers"""

    def __init__(self) -> None:
        self.parts: list[Rows] = []
        self.counts: Counter[str] = Counter()
        self.batches: list[int] = []
        self.marks: list[str] = []
        self.fresh: list[int] = []

    def note(self, *arrays: Any) -> None:
        """One batch: arrays whose first axis counts its examples; else the whole is one example."""
        lengths = {len(array) if np.ndim(array) else -1 for array in arrays}
        size = lengths.pop() if len(lengths) == 1 else -1
        if size < 0:
            rows = [_digest(arrays)]
        else:
            rows = [_digest([array[row] for array in arrays]) for row in range(size)]
        known = len(self.counts)
        self.counts.update(rows)
        self.fresh.append(len(self.counts) - known)
        self.batches.append(len(rows))
        telling = [array for array in arrays if not _may_number(array)]
        if len(arrays) > 1 and len(telling) <= MOST_PARTS:
            self.parts = self.parts or [Rows() for _ in telling]
            for part, array in zip(self.parts, telling, strict=False):
                part.note(array)
        self.marks.append(hashlib.blake2b("".join(sorted(rows)).encode(), digest_size=6).hexdigest())

    def report(self) -> dict[str, Any]:
        return {
            "rows": dict(self.counts),
            "batches": self.batches,
            "marks": self.marks,
            "fresh": self.fresh,
            "parts": [part.report() for part in self.parts],
        }


@dataclass
class Dealt:
    """A dataset that is gone through eagerly: the batches after which a step was taken, the others, and the one that was dealt
    last, with the steps taken before it."""

    dataset: Any
    trained: Rows = field(default_factory=Rows)
    looked_at: Rows = field(default_factory=Rows)
    last: tuple[list[Any], int] | None = None

    def settle(self, steps: int) -> None:
        """Tells whether the last batch was trained on."""
        if self.last is not None:
            arrays, before = self.last
            (self.trained if steps > before else self.looked_at).note(*arrays)
        self.last = None


class Examples:
    """steps    returns how many steps have been taken so far; where none is ever seen, all that is dealt counts
    seconds  how long eager loops waited for the next element of a dataset"""

    def __init__(self, steps: Callable[[], int] = lambda: 0) -> None:
        self.seconds = 0.0
        self.keras, self.validated = Rows(), Rows()
        self._steps = steps
        self._datasets: dict[int, Dealt] = {}

    def install(self) -> None:
        Model.make_train_function = self._around_make(Model.make_train_function, "train_step", self.keras)
        Model.make_test_function = self._around_make(Model.make_test_function, "test_step", self.validated)
        iterator_ops.OwnedIterator.__next__ = self._around_next(iterator_ops.OwnedIterator.__next__)

    def report(self) -> dict[str, Any]:
        steps, every = self._steps(), list(self._datasets.values())
        for dealt in every:
            dealt.settle(steps)
        return {
            "keras": self.keras.report(),
            "validated": self.validated.report(),
            "datasets": [(dealt.trained if steps else dealt.looked_at).report() for dealt in every],
        }

    def _around_make(self, original: Callable[..., Any], name: str, rows: Rows) -> Callable[..., Any]:
        """Around what makes the function of Keras' loop: `rows` are those that the model's method of that name gets."""

        @tf.autograph.experimental.do_not_convert
        def note(data: Any) -> None:
            tensors = [tensor for tensor in tf.nest.flatten(data) if tensor is not None]
            tf.numpy_function(rows.note, tensors, [])

        def make(model: Any, force: bool = False) -> Any:
            if name not in model.__dict__:
                step = getattr(model, name)

                def noted(data: Any) -> Any:
                    note(data)
                    return step(data)

                # Past Keras' own __setattr__, which would track it.
                model.__dict__[name] = noted
            return original(model, force)

        return make

    def _around_next(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __next__(iterator: Any) -> Any:
            if not tf.executing_eagerly():
                return original(iterator)
            dataset = iterator._dataset
            dealt = self._datasets.setdefault(id(dataset), Dealt(dataset))
            dealt.settle(self._steps())
            started = time.monotonic()
            element = original(iterator)
            self.seconds += time.monotonic() - started
            arrays = [t.numpy() for t in tf.nest.flatten(element) if hasattr(t, "numpy")]
            dealt.last = (arrays, self._steps())
            return element

        return __next__


def _may_number(array: Any) -> bool:
    """Whether each row has one whole number in an array."""
    found = np.asarray(array)
    return bool(found.dtype.kind in "biu" and found.ndim and found.size == len(found))


def _digest(values: Any) -> str:
    """What tells a row apart, whatever batch it is in: without the zeros that fill it up to the longest one."""
    state = hashlib.blake2b(digest_size=6)
    for value in values:
        state.update(np.ascontiguousarray(value).tobytes().rstrip(b"\0") + b"\n")
    return state.hexdigest()
