"""Programs that decide by what they measure: when to stop, with which rate, weights, optimizer, loss or rows to go on.

Each rank measures other rows, and draws other numbers: alone, it would decide something else than the others."""

from __future__ import annotations

import itertools
import random
import textwrap

from .programs import Program

HEAD = """\
import os
import random
from collections import deque
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x = rng.rand(96, 4).astype("float32")
y = (x.sum(1, keepdims=True) + rng.randn(96, 1)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(96).batch(8, drop_remainder=True)
held = tf.data.Dataset.from_tensor_slices((x, -y)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu", input_shape=(4,)), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.02)
fine = tf.keras.optimizers.SGD(0.001)
TAKEN, flag, weight = [], False, 1.0
best, wait, last, rate, kept, history = np.inf, 0, None, 0.02, None, []
saved = [tf.Variable(v, trainable=False) for v in model.trainable_variables]


def train_step(a, b):
    TAKEN.append((float(opt.learning_rate), float(weight), int(a.shape[0])))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a) - b)) * weight
        if flag:
            loss += tf.reduce_mean(tf.abs(model(a)))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def lower():
    opt.learning_rate.assign(opt.learning_rate * 0.5)


def is_better(now, before):
    return before is None or now < before


class Stopper:
    def __init__(self):
        self.best, self.wait = None, 0

    def __call__(self, value):
        if self.best is None or value < self.best:
            self.best, self.wait = value, 0
        else:
            self.wait += 1
        return self.wait > 1


stopper, window = Stopper(), deque(maxlen=20)
for epoch in range(6):
"""
END = "TAKEN.append(tuple(float(tf.reduce_sum(v)) for v in model.trainable_variables))\n"
# How an epoch is gone through, and what comes of it, `now`.
MEASURES = {
    "a list": "losses = []\nfor a, b in ds:\n    losses.append(float(train_step(a, b)))\nnow = np.mean(losses)",
    "a comprehension": "now = float(np.mean([train_step(a, b) for a, b in ds]))",
    "a metric": "m = tf.keras.metrics.Mean()\nfor a, b in ds:\n    m.update_state(train_step(a, b))\nnow = float(m.result())",
    "a sum": "total, n = 0.0, 0\nfor a, b in ds:\n    total += train_step(a, b).numpy()\n    n += 1\nnow = total / n",
    "the last": "for a, b in ds:\n    loss = train_step(a, b)\nnow = float(loss)",
    "a window": "for a, b in ds:\n    window.append(float(train_step(a, b)))\nnow = sum(window) / len(window)",
    "other rows": "for a, b in ds:\n    train_step(a, b)\n"
    "now = float(np.mean([tf.reduce_mean(tf.square(model(a) - b)) for a, b in held]))",
    "some rows": "for a, b in ds:\n    train_step(a, b)\ni = np.random.choice(96, 16)\n"
    "now = float(tf.reduce_mean(tf.square(model(x[i]) - y[i])))",
}
# What is decided by that.
DECISIONS = {
    "patience": "if now < best:\n    best, wait = now, 0\nelse:\n    wait += 1\n    if wait > 1:\n        break",
    "a function": "if is_better(now, last):\n    last = now\nelse:\n    break",
    "an object": "if stopper(now):\n    break",
    "a list": "history.append(now)\nif np.argmin(history) < len(history) - 2:\n    break",
    "twice": "history.append(now)\nif epoch > 1 and history[epoch] > history[epoch - 1] > history[epoch - 2]:\n    break",
    "change": "if last is not None and abs(last - now) < 0.05 * last:\n    break\nlast = now",
    "a rate": "if last is not None and now > last:\n    rate = max(rate / 2, 1e-4)\n    opt.learning_rate = rate\nlast = now",
    "a function's rate": "if last is not None and now > last:\n    lower()\nlast = now",
    "weights": "if now < best:\n    best, kept = now, model.get_weights()\nelse:\n    model.set_weights(kept)",
    "variables": "if now < best:\n    best = now\n    for s, v in zip(saved, model.trainable_variables):\n        s.assign(v)\n"
    "else:\n    for s, v in zip(saved, model.trainable_variables):\n        v.assign(s)",
    "an optimizer": "if last is not None and now > last:\n    opt = fine\nlast = now",
    "a loss": "if last is not None and now > last:\n    flag = True\nlast = now",
    "a weight": "if last is not None and now > last:\n    weight = 0.5\nlast = now",
    "rows": "if last is not None and now > last:\n    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(96).batch(16)\n"
    "last = now",
    "more steps": "if last is not None and now > last:\n    for a, b in ds.take(2):\n        train_step(a, b)\nlast = now",
}


def every() -> list[Program]:
    """All of them."""
    return [
        Program(
            f"{decision} by {measure}",
            f"{HEAD}{textwrap.indent(MEASURES[measure] + chr(10) + DECISIONS[decision], '    ')}\n{END}",
        )
        for measure, decision in itertools.product(MEASURES, DECISIONS)
    ]


def some(seed: int) -> list[Program]:
    """One of each decision, by a measure by chance but for the seed."""
    by_chance = random.Random(seed)
    chosen = {d: by_chance.choice(list(MEASURES)) for d in DECISIONS}
    return [p for p in every() if any(p.name == f"{d} by {m}" for d, m in chosen.items())]
