"""Programs whose batches come from loaders of their own: each orders its rows in one way, and deals them out in one way.

They print nothing: which rows each step is given, and which were prepared, `pretended_rows` writes down."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

SIZES = {"even": (64, 8), "rest": (61, 8), "small": (60, 4)}  # rows, and those of a batch
HEAD = """\
import itertools
import random
import numpy as np
import tensorflow as tf

{seed}
n, size = {rows}, {batch}
x = np.zeros((n, 4), "float32")
x[:, 0] = np.arange(n)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.SGD(1e-9)


def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a) - b))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def prepare(numbers):
    return x[numbers], x[numbers][:, :1]


"""
# What seeds it, and what draws an order of the rows.
ORDERS = {
    "in order": ("", "np.arange(n)"),
    "drawn": ("", "np.random.permutation(n)"),
    "drawn by a seed": ("np.random.seed(1)", "np.random.permutation(n)"),
    "of a generator": ("rng = np.random.default_rng()", "rng.permutation(n)"),
    "of a seeded generator": ("rng = np.random.RandomState(7)", "rng.permutation(n)"),
    "a sample": ("", "np.array(random.sample(range(n), n))"),
    "of TensorFlow": ("", "tf.random.shuffle(tf.range(n)).numpy()"),
}


@dataclass(frozen=True)
class Loader:
    """How batches are dealt out: `{order}` is where an order is drawn.

    divided   whether a rank prepares its own rows alone
    is_whole  whether it deals out what is left over, too"""

    text: str
    divided: bool = True
    is_whole: bool = True


LOADERS = {
    "slices": Loader(
        "for epoch in range(3):\n    order = {order}\n    for i in range(n // size):\n"
        "        a, b = prepare(order[i * size : (i + 1) * size])\n        train_step(a, b)\n",
        is_whole=False,
    ),
    "a range with steps": Loader(
        "for epoch in range(3):\n    order = {order}\n    for start in range(0, n, size):\n"
        "        a, b = prepare(order[start : start + size])\n        train_step(a, b)\n"
    ),
    "a cursor": Loader(
        "for epoch in range(3):\n    order = {order}\n    at = 0\n    while at < n:\n"
        "        a, b = prepare(order[at : at + size])\n        train_step(a, b)\n        at += size\n"
    ),
    "the end of a batch": Loader(
        "for epoch in range(3):\n    order = {order}\n    start = 0\n    while start < n:\n"
        "        end = min(start + size, n)\n        a, b = prepare(order[start:end])\n        train_step(a, b)\n"
        "        start = end\n"
    ),
    "a cursor that begins again": Loader(
        "order = {order}\nat = 0\nfor step in range(3 * (n // size)):\n    if at + size > n:\n        order = {order}\n"
        "        at = 0\n    a, b = prepare(order[at : at + size])\n    at += size\n    train_step(a, b)\n",
        is_whole=False,
    ),
    "rows that are shuffled together": Loader(
        "def shuffled(a, b):\n    order = {order}\n    return a[order], b[order]\n\n\nfor epoch in range(3):\n"
        "    xs, ys = shuffled(x, x[:, :1])\n    for i in range(0, n, size):\n"
        "        train_step(xs[i : i + size], ys[i : i + size])\n"
    ),
    "a generator": Loader(
        "def batches():\n    order = {order}\n    for i in range(0, n, size):\n        yield prepare(order[i : i + size])\n\n\n"
        "for epoch in range(3):\n    for a, b in batches():\n        train_step(a, b)\n"
    ),
    "a generator with an option": Loader(
        "def batches(numbers, size, shuffle=True):\n    if shuffle:\n        order = {order}\n"
        "    for i in range(0, len(numbers) - size + 1, size):\n        if shuffle:\n            chosen = order[i : i + size]\n"
        "        else:\n            chosen = np.arange(i, i + size)\n        yield prepare(chosen)\n\n\n"
        "for epoch in range(3):\n    for a, b in batches(x, size):\n        train_step(a, b)\n",
        is_whole=False,
    ),
    "a generator that gathers": Loader(
        "def batches():\n    held = []\n    for number in {order}:\n        held.append(number)\n"
        "        if len(held) == size:\n"
        "            yield prepare(np.array(held))\n            held = []\n\n\n"
        "for epoch in range(3):\n    for a, b in batches():\n        train_step(a, b)\n",
        divided=False,
        is_whole=False,
    ),
    "__iter__": Loader(
        "class Batches:\n    def __iter__(self):\n        order = {order}\n        for i in range(0, n, size):\n"
        "            yield prepare(order[i : i + size])\n\n\nbatches = Batches()\nfor epoch in range(3):\n"
        "    for a, b in batches:\n        train_step(a, b)\n"
    ),
    "__next__": Loader(
        "class Batches:\n    def __iter__(self):\n        self.at, self.order = 0, {order}\n        return self\n\n"
        "    def __next__(self):\n        if self.at >= n:\n            raise StopIteration\n"
        "        chosen = self.order[self.at : self.at + size]\n        self.at += size\n        return prepare(chosen)\n\n\n"
        "batches = Batches()\nfor epoch in range(3):\n    for a, b in batches:\n        train_step(a, b)\n",
        divided=False,
    ),
    "__getitem__": Loader(
        "class Batches:\n    def __init__(self):\n        self.order = {order}\n\n    def __len__(self):\n"
        "        return n // size\n\n    def __getitem__(self, k):\n        if k >= len(self):\n            raise IndexError\n"
        "        return prepare(self.order[k * size : (k + 1) * size])\n\n    def on_epoch_end(self):\n"
        "        self.order = {order}\n\n\nbatches = Batches()\nfor epoch in range(3):\n    for a, b in batches:\n"
        "        train_step(a, b)\n    batches.on_epoch_end()\n",
        is_whole=False,
    ),
    "a Sequence": Loader(
        "class Batches(tf.keras.utils.Sequence):\n    def __init__(self):\n        self.order = {order}\n\n"
        "    def __len__(self):\n        return n // size\n\n    def __getitem__(self, k):\n"
        "        return prepare(self.order[k * size : (k + 1) * size])\n\n    def on_epoch_end(self):\n"
        "        self.order = {order}\n\n\nbatches = Batches()\nfor epoch in range(3):\n    for k in range(len(batches)):\n"
        "        a, b = batches[k]\n        train_step(a, b)\n    batches.on_epoch_end()\n",
        is_whole=False,
    ),
    "next_batch": Loader(
        "class Batches:\n    def __init__(self):\n        self.at, self.order = 0, {order}\n\n    def next_batch(self):\n"
        "        if self.at + size > n:\n            self.at, self.order = 0, {order}\n"
        "        chosen = self.order[self.at : self.at + size]\n        self.at += size\n        return prepare(chosen)\n\n\n"
        "batches = Batches()\nfor step in range(3 * (n // size)):\n    a, b = batches.next_batch()\n    train_step(a, b)\n",
        divided=False,
        is_whole=False,
    ),
}


@dataclass(frozen=True)
class Program:
    """What it is made of, and its text."""

    name: str
    loader: Loader
    text: str
    batch: int


def every() -> Iterator[Program]:
    """All of them."""
    for name, order, size in itertools.product(LOADERS, ORDERS, SIZES):
        loader, (rows, batch), (seed, drawn) = LOADERS[name], SIZES[size], ORDERS[order]
        text = HEAD.format(seed=seed, rows=rows, batch=batch) + loader.text.format(order=drawn)
        yield Program(f"{name}, {order}, {size}", loader, text, batch)


def some(number: int, seed: int) -> list[Program]:
    """Some of them, by chance but for the seed; of each loader as many as of another, or one more."""
    chance = random.Random(seed)
    by_loader = [[p for p in every() if p.name.startswith(f"{name}, ")] for name in LOADERS]
    return [chance.choice(by_loader[i % len(by_loader)]) for i in range(number)]
