"""A stand-in for `tensorflow.examples.tutorials.mnist.input_data`: the same functions on digits that are made up.

Ten patterns of 28 × 28 pixels with noise, the same in every process. Batches are drawn as the real module draws them: in
order of a shuffle that is made anew with every pass, from NumPy's global generator, seeded from the default graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

PIXELS = 28 * 28
TRAIN, VALIDATION, TEST = 500, 60, 100


class DataSet:
    """Images (rows of 784 floats from 0 to 1), their labels, and a place up to which they were drawn."""

    def __init__(self, images: Any, labels: Any) -> None:
        self.images, self.labels = images, labels
        self.num_examples = len(images)
        self.epochs_completed = 0
        self._order = np.arange(self.num_examples)
        self._at = 0

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next images and labels; a batch that passes the end goes on in the next shuffle."""
        if shuffle and self._at == 0 and self.epochs_completed == 0:
            np.random.shuffle(self._order)
        chosen = self._order[self._at : self._at + batch_size]
        self._at += batch_size
        if self._at > self.num_examples:
            self.epochs_completed += 1
            if shuffle:
                self._order = np.random.permutation(self.num_examples)
            self._at -= self.num_examples
            chosen = np.concatenate([chosen, self._order[: self._at]])
        return self.images[chosen], self.labels[chosen]


@dataclass
class Datasets:
    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = None,
    reshape: bool = True,
    validation_size: int = VALIDATION,
    seed: int | None = None,
    source_url: str = "",
) -> Datasets:
    """The three parts of the made-up digits. Nothing is read from or written to `train_dir`."""
    from tensorflow.python.framework import ops

    np.random.seed(ops.get_default_graph().seed if seed is None else seed)
    rng = np.random.RandomState(28)
    patterns = (rng.uniform(size=(10, PIXELS)) < 0.15).astype("float32")
    parts = []
    for size in (TRAIN, validation_size, TEST):
        digits = rng.randint(0, 10, size=size)
        images = np.clip(0.8 * patterns[digits] + 0.2 * rng.uniform(size=(size, PIXELS)), 0, 1)
        images = images.astype("float32").reshape((size, PIXELS) if reshape else (size, 28, 28, 1))
        parts.append(DataSet(images, np.eye(10)[digits] if one_hot else digits.astype("uint8")))
    return Datasets(*parts)
