"""Programs of `fit`: a callback counts steps in one way, and gives them a weight, a rate or an event by a function of that."""

from __future__ import annotations

import itertools
import random
import textwrap

from tests.stepwise.programs import EVENTS, FUNCTIONS, Program

HEAD = """\
import functools
import os
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(64, 4).astype("float32")
y = x.sum(1, keepdims=True)
steps = len(x) // 4
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).batch(4, drop_remainder=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
weight = tf.Variable(1.0, trainable=False)
TAKEN, EVENTS = [], []


def keep(step):
    EVENTS.append(len(TAKEN))
    with open(os.devnull, "w") as f:
        f.write(str(step))


"""
# How a callback counts: what it begins with, what it does as an epoch and as a batch begins, and what the count is called.
COUNTS = {
    "own": ("self.step = 0", "pass", "{body}\nself.step += 1", "self.step"),
    "before": ("self.step = 0", "pass", "self.step += 1\n{body}", "self.step"),
    "variable": ("self.step = tf.Variable(0)", "pass", "{body}\nself.step.assign_add(1)", "int(self.step)"),
    "iterations": ("pass", "pass", "it = int(self.model.optimizer.iterations)\n{body}", "it"),
    "epoch": ("self.epoch = 0", "self.epoch = epoch", "step = self.epoch * 16 + batch\n{body}", "step"),
    "length": ("self.epoch = 0", "self.epoch = epoch", "step = self.epoch * {length} + batch\n{body}", "step"),
    "told": ("self.epoch = 0", "self.epoch = epoch", "step = self.epoch * self.params['steps'] + batch\n{body}", "step"),
    "begun": ("self.step = 0", "self.step = epoch * 16", "{body}\nself.step += 1", "self.step"),
}  # fmt: skip
USES = {
    "weight": "weight.assign(f({step}))",
    "rate": "self.model.optimizer.learning_rate.assign(0.01 * f({step}))",
}
DATA = {
    "arrays": ("x, y, batch_size=4", "steps"),
    "dataset": ("ds", "len(ds)"),
    "repeated": ("ds.repeat(), steps_per_epoch=16", "16"),
}
CALLBACK = """\
class Counting(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        {begins}
    def on_epoch_begin(self, epoch, logs=None):
        {epoch}
    def on_train_batch_begin(self, batch, logs=None):
{batch}
model.fit({data}, epochs=10, verbose=0, callbacks=[Counting()])
"""


def every() -> list[Program]:
    """All of them."""
    found = [
        Program(f"{data}, {count}, {function}, {use}", _text(data, count, FUNCTIONS[function], USES[use]))
        for data, count, function, use in itertools.product(DATA, COUNTS, FUNCTIONS, USES)
    ]
    found += [
        Program(f"{data}, {count}, {event}", _text(data, count, "", EVENTS[event]))
        for data, count, event in itertools.product(DATA, COUNTS, EVENTS)
    ]
    return found


def some(number: int, seed: int) -> list[Program]:
    """Some of them, by chance but for the seed."""
    return random.Random(seed).sample(every(), number)


def _text(data: str, count: str, before: str, body: str) -> str:
    given, length = DATA[data]
    begins, epoch, batch, step = COUNTS[count]
    batch = batch.replace("{length}", length).replace("{body}", body.format(step=step))
    callback = CALLBACK.format(begins=begins, epoch=epoch, batch=textwrap.indent(batch, " " * 8), data=given)
    return f"{HEAD}{before}\n{callback}"
