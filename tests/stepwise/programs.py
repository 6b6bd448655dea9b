"""The programs: each counts its steps in one way, and gives its steps a weight, a rate or an event by one function of that."""

from __future__ import annotations

import itertools
import random
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

STEPS = 160
HEAD = """\
import functools
import os
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(64, 4).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).shuffle(64, seed=1).batch(4, drop_remainder=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.SGD(0.01)
TAKEN, EVENTS = [], []


def train_step(a, b, w=1.0):
    TAKEN.append((float(w), float(opt.learning_rate)))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a) - b)) * w
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def keep(step):
    EVENTS.append(len(TAKEN))
    with open(os.devnull, "w") as f:
        f.write(str(step))


"""
# How a program counts its steps: the loop, with its body at `{body}`, and what the count is called there.
LOOPS = {
    "numbered": ("for step, (a, b) in enumerate(ds.repeat(10)):\n    {body}", "step"),
    "after": (
        "step = 0\nfor epoch in range(10):\n    for a, b in ds:\n        {body}\n        step += 1",
        "step",
    ),
    "before": (
        "step = 0\nfor epoch in range(10):\n    for a, b in ds:\n        step += 1\n        {body}",
        "step",
    ),
    "iterations": (
        "for epoch in range(10):\n    for a, b in ds:\n        it = int(opt.iterations)\n        {body}",
        "it",
    ),
    "variable": (
        "step = tf.Variable(0)\nfor epoch in range(10):\n    for a, b in ds:\n        {body}\n        step.assign_add(1)",
        "int(step)",
    ),
    "field": (
        "class Trainer:\n    def __init__(self):\n        self.step = 0\n    def run(self):\n        for epoch in range(10):\n"
        "            for a, b in ds:\n                {body}\n                self.step += 1\nTrainer().run()",
        "self.step",
    ),
    "item": (
        "state = {{'step': 0}}\nfor epoch in range(10):\n    for a, b in ds:\n        {body}\n        state['step'] += 1",
        "state['step']",
    ),
    "epoch": (
        "for epoch in range(10):\n    for i, (a, b) in enumerate(ds):\n        step = epoch * 16 + i\n        {body}",
        "step",
    ),
    "next": ("rows = iter(ds.repeat())\nfor step in range(160):\n    a, b = next(rows)\n    {body}", "step"),
    "while": (
        "rows = iter(ds.repeat())\nstep = 0\nwhile step < 160:\n    a, b = next(rows)\n    {body}\n    step += 1",
        "step",
    ),
    "handed": (
        "def one(step, a, b):\n    {body}\nn = 0\nfor epoch in range(10):\n    for a, b in ds:\n        one(n, a, b)\n"
        "        n += 1",
        "step",
    ),
    "given back": (
        "n = 0\ndef epoch_of(n):\n    for a, b in ds:\n        {body}\n        n += 1\n    return n\n"
        "for epoch in range(10):\n    n = epoch_of(n)",
        "n",
    ),
    "on from epochs": (
        "start = 2\nsteps = len(x) // 4\nstep = start * steps\nfor epoch in range(start, 12):\n    for a, b in ds:\n"
        "        {body}\n        step += 1",
        "step",
    ),
    "on from a length": (
        "start = 2\nstep = start * len(ds)\nfor epoch in range(start, 12):\n    for a, b in ds:\n        {body}\n"
        "        step += 1",
        "step",
    ),
    "on from a number": (
        "rows = iter(ds.repeat())\nfor step in range(32, 192):\n    a, b = next(rows)\n    {body}",
        "step",
    ),
    "on from a count": (
        "for step, (a, b) in enumerate(ds.repeat(10), 32):\n    {body}",
        "step",
    ),
    "on while": (
        "rows = iter(ds.repeat())\nstep = 32\nwhile step < 192:\n    a, b = next(rows)\n    {body}\n    step += 1",
        "step",
    ),
    "on in a field": (
        "class Trainer:\n    def __init__(self, start=0, steps=16):\n        self.start, self.step = start, start * steps\n"
        "    def run(self):\n        for epoch in range(self.start, 12):\n            for a, b in ds:\n"
        "                {body}\n                self.step += 1\nTrainer(2).run()",
        "self.step",
    ),
    "on as told": (
        "def run(step):\n    for epoch in range(2, 12):\n        for a, b in ds:\n            {body}\n            step += 1\n"
        "run(2 * 16)",
        "step",
    ),
    "on by a variable": (
        "step = tf.Variable(2 * 16)\nfor epoch in range(2, 12):\n    for a, b in ds:\n        {body}\n"
        "        step.assign_add(1)",
        "int(step)",
    ),
    "on by iterations": (
        "opt.iterations.assign(2 * 16)\nfor epoch in range(2, 12):\n    for a, b in ds:\n        it = int(opt.iterations)\n"
        "        {body}",
        "it",
    ),
    "on by option": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--start', type=int, default=32)\n"
        "args = parser.parse_args([])\nstep = args.start\nfor epoch in range(2, 12):\n    for a, b in ds:\n"
        "        {body}\n        step += 1",
        "step",
    ),
}
FUNCTIONS = {
    "line": "def f(step):\n    return min(1.0, step / 100)",
    "warm-up": "def f(step):\n    if step < 40:\n        return step / 40\n    return 0.5",
    "lambda": "f = lambda step: 0.9 ** (step / 20)",
    "called": "class S:\n    def __init__(self, n):\n        self.n = n\n    def __call__(self, step):\n"
    "        return max(0.1, 1.0 - step / self.n)\nf = S(120)",
    "method": "class S:\n    def __init__(self, n):\n        self.n = n\n    def at(self, step):\n"
    "        part = min(1.0, step / self.n)\n        return 0.2 + 0.5 * part\nf = S(120).at",
    "closure": "def make(n):\n    def g(step):\n        return max(0.0, 1.0 - step / n)\n    return g\nf = make(110)",
    "nested": "def g(s):\n    return s / 100\ndef f(step):\n    return min(1.0, g(step) + 0.1)",
    "interp": "def f(step):\n    return float(np.interp(step, [0, 50, 100], [0.1, 1.0, 0.3]))",
    "named": "def f(step):\n    s = float(step)\n    p = s / 100\n    q = 1 - p\n    return max(q, 0.05)",
    "default": "def f(step, n=100, power=2):\n    return max(0.0, 1 - step / n) ** power + 0.01",
    "partial": "def g(step, n):\n    return min(1.0, step / n)\nf = functools.partial(g, n=90)",
    "staircase": "def f(step):\n    k = step // 20\n    return 0.5 ** k",
    "table": "TABLE = np.linspace(1.0, 0.1, 200)\ndef f(step):\n    return float(TABLE[step])",
    "bounds": "def f(step):\n    for bound, value in ((30, 1.0), (90, 0.5)):\n        if step < bound:\n"
    "            return value\n    return 0.1",
    "factors": "def f(step):\n    warm = min(1.0, (step + 1) / 30)\n    return warm * (0.5 if step >= 100 else 1.0)",
}
USES = {
    "weight": "train_step(a, b, w=f({step}))",
    "named": "w = f({step})\ntrain_step(a, b, w)",
    "tensor": "w = tf.constant(f({step}), tf.float32)\ntrain_step(a, b, w)",
    "rate": "opt.learning_rate.assign(0.01 * f({step}))\ntrain_step(a, b)",
    "shown": "train_step(a, b, f({step}))\nif {step} % 20 == 0:\n    print({step}, f({step}))",
    "rate and weight": "rate = 0.02 * f({step})\nopt.learning_rate = rate\ntrain_step(a, b, f({step}))",
    "rows": "train_step(a * f({step}), b, w=float(f({step})))",
    "noise": "noise = tf.random.normal(tf.shape(a)) * f({step})\ntrain_step(a + noise, b, w=f({step}))",
    "now and then": "if {step} % 4 == 0:\n    opt.learning_rate.assign(0.01 * f({step}))\ntrain_step(a, b)",
}
EVENTS = {
    "every": "if {step} % 20 == 0:\n    keep({step})",
    "next": "if ({step} + 1) % 20 == 0:\n    keep({step})",
    "not": "if not {step} % 20:\n    keep({step})",
    "last": "if {step} % 20 == 19:\n    keep({step})",
    "not the first": "if {step} > 0 and {step} % 20 == 0:\n    keep({step})",
    "listed": "if {step} in (30, 60, 120):\n    keep({step})",
    "once": "if {step} == 50:\n    keep({step})",
    "from": "if {step} >= 100 and {step} % 10 == 0:\n    keep({step})",
    "offset": "if {step} >= 40 and ({step} - 40) % 30 == 0:\n    keep({step})",
    "within": "if 40 <= {step} < 100 and {step} % 20 == 0:\n    keep({step})",
    "divided": "if np.mod({step}, 20) == 0:\n    keep({step})",
    "named": "due = {step} % 20 == 0\nif due:\n    keep({step})",
    "expression": "keep({step}) if {step} % 20 == 0 else None",
    "by rows": "if {step} % (len(x) // 4) == 0:\n    keep({step})",
}


@dataclass(frozen=True)
class Program:
    """What it is made of, and its text."""

    name: str
    text: str


def every() -> list[Program]:
    """All of them."""
    return [*_with_functions(), *_with_events()]


def some(number: int, seed: int) -> list[Program]:
    """Some of them, by chance but for the seed."""
    return random.Random(seed).sample(every(), number)


def _with_functions() -> Iterator[Program]:
    for loop, function, use in itertools.product(LOOPS, FUNCTIONS, USES):
        yield Program(f"{loop}, {function}, {use}", _text(loop, FUNCTIONS[function], USES[use]))


def _with_events() -> Iterator[Program]:
    for loop, event in itertools.product(LOOPS, EVENTS):
        yield Program(f"{loop}, {event}", _text(loop, "", "train_step(a, b)\n" + EVENTS[event]))


def _text(loop: str, before: str, body: str) -> str:
    around, count = LOOPS[loop]
    place = next(line for line in around.splitlines() if "{body}" in line)
    indent = " " * (len(place) - len(place.lstrip()))
    inside = textwrap.indent(body.format(step=count), indent).lstrip()
    return f"{HEAD}{before}\n{around.format(body=inside)}\n"
