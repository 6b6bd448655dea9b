"""Programs that are stopped, and go on from what they saved: a count of steps or epochs beside the weights, kept in one way,
and a rate by one function of it."""

from __future__ import annotations

import itertools
import random
import textwrap
from collections.abc import Iterator

from .programs import Program

ROWS, BATCH, EPOCHS = 96, 4, 6
STOPPED = 300  # rows after which the first run is stopped
HEAD = f"""\
import csv
import glob
import json
import os
import pickle
import numpy as np
import tensorflow as tf

TAKEN = list()
n, BATCH, EPOCHS = {ROWS}, {BATCH}, {EPOCHS}
x = np.random.RandomState(0).rand(n, 4).astype("float32")
x[:, 0] = np.arange(n) / 1000.0
y = x[:, 1:].sum(1, keepdims=True)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(n).batch(BATCH)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu", input_shape=(4,)), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)


def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a) - b))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    TAKEN.append(([int(round(float(v) * 1000)) for v in a[:, 0]], float(opt.learning_rate)))
    return loss


"""
END = "WEIGHTS = [float(tf.reduce_sum(v)) for v in model.trainable_variables]\n"
KEPT = """\
ckpt = tf.train.Checkpoint(step=tf.Variable(0), epoch=tf.Variable(0), model=model)
manager = tf.train.CheckpointManager(ckpt, "ckpts", max_to_keep=3)
ckpt.restore(manager.latest_checkpoint)
"""
SAVED = "model.save_weights('w.h5')\n"
# How the count `at` is found again, saved, and counted on beside.
STATES = {
    "variable": (KEPT + "at = int(ckpt.{kind})", "ckpt.{kind}.assign(at)\nmanager.save()"),
    "variable if found": (
        KEPT + "at = int(ckpt.{kind}) if manager.latest_checkpoint else 0",
        "ckpt.{kind}.assign(at)\nmanager.save()",
    ),
    "json": (
        "at = 0\nif os.path.exists('state.json'):\n    model.load_weights('w.h5')\n"
        "    with open('state.json') as f:\n        at = json.load(f)['at']",
        SAVED + "with open('state.json', 'w') as f:\n    json.dump({{'at': at}}, f)",
    ),
    "pickle": (
        "at, best = 0, 1e9\nif os.path.exists('state.pkl'):\n    model.load_weights('w.h5')\n"
        "    with open('state.pkl', 'rb') as f:\n        at, best = pickle.load(f)",
        SAVED + "with open('state.pkl', 'wb') as f:\n    pickle.dump((at, best), f)",
    ),
    "npz": (
        "at = 0\nif os.path.isfile('state.npz'):\n    model.load_weights('w.h5')\n    at = int(np.load('state.npz')['at'])",
        SAVED + "np.savez('state.npz', at=at)",
    ),
    "name": (
        "at, latest = 0, tf.train.latest_checkpoint('ck')\nif latest is not None:\n    model.load_weights(latest)\n"
        "    at = int(latest.split('-')[-1])",
        "model.save_weights('ck/model-%d' % at)",
    ),
    "csv": (
        "at = 0\nif os.path.exists('log.csv'):\n    model.load_weights('w.h5')\n    with open('log.csv') as f:\n"
        "        at = int(f.readlines()[-1].split(',')[0])",
        SAVED + "with open('log.csv', 'a') as f:\n    f.write('%d,%f\\n' % (at, float(loss)))",
    ),
    "csv rows": (
        "at = 0\nif os.path.exists('log.csv'):\n    model.load_weights('w.h5')\n    with open('log.csv') as f:\n"
        "        for row in csv.reader(f):\n            at = int(row[0])",
        SAVED + "with open('log.csv', 'a') as f:\n    csv.writer(f).writerow([at, float(loss)])",
    ),
}
LOOPS = {
    "while": (
        "step",
        "it = iter(ds.repeat())\nwhile at < EPOCHS * n // BATCH:\n    {rate}\n    loss = train_step(*next(it))\n    at += 1\n"
        "    if at % 20 == 0:\n        {save}",
    ),
    "until": (
        "step",
        "for a, b in ds.repeat():\n    if at >= 144:\n        break\n    {rate}\n    loss = train_step(a, b)\n    at += 1\n"
        "    if at % 20 == 0:\n        {save}",
    ),
    "steps left": (
        "step",
        "for a, b in ds.repeat().take(144 - at):\n    {rate}\n    loss = train_step(a, b)\n    at += 1\n"
        "    if at % 20 == 0:\n        {save}",
    ),
    "numbered": (
        "step",
        "it = iter(ds.repeat())\nfor step in range(at, 144):\n    {rate}\n    loss = train_step(*next(it))\n    at = step + 1\n"
        "    if (step + 1) % 20 == 0:\n        {save}",
    ),
    "epochs": (
        "epoch",
        "for epoch in range(at, EPOCHS):\n    {rate}\n    for a, b in ds:\n        loss = train_step(a, b)\n"
        "    at = epoch + 1\n    {save}",
    ),
}
RATES = {
    "constant": "",
    "falling": "opt.learning_rate = 0.01 * 0.9 ** ({at} / {each})",
    "in steps": "opt.learning_rate.assign(0.01 if {at} < 3 * {each} else 0.001)",
}


def every() -> list[Program]:
    """All of them."""
    return list(_all())


def some(seed: int) -> list[Program]:
    """Each state once, with a loop and a rate by chance but for the seed."""
    by_chance = random.Random(seed)
    chosen = {(s, by_chance.choice(list(LOOPS)), by_chance.choice(list(RATES))) for s in STATES}
    return [p for p in every() if any(p.name == ", ".join(c) for c in chosen)]


def _all() -> Iterator[Program]:
    for state, loop, rate in itertools.product(STATES, LOOPS, RATES):
        kind, around = LOOPS[loop]
        restore, save = (part.format(kind=kind) for part in STATES[state])
        number, each = ("step", 24) if loop == "numbered" else ("at", 24)
        if kind == "epoch":
            number, each = "epoch", 1
        for mark, block in (("{rate}", RATES[rate].format(at=number, each=each)), ("{save}", save)):
            place = next(line for line in around.splitlines() if mark in line)
            spaces = place[: len(place) - len(place.lstrip())]
            inside = textwrap.indent(block, spaces)
            around = around.replace(place, inside) if block else around.replace(place + "\n", "")
        yield Program(f"{state}, {loop}, {rate}", f"{HEAD}{restore}\n{around}\n{END}")
