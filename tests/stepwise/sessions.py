"""Programs of sessions: each counts its steps in one way, and gives its steps a rate, a weight or an event by one function of
that. What the applied rate is, is read of the graph."""

from __future__ import annotations

import itertools
import random
import textwrap
from collections.abc import Iterator

from tests.stepwise.programs import Program

HEAD = """\
import os
import numpy as np
import tensorflow.compat.v1 as tf

data = np.random.RandomState(0).rand(64, 4).astype("float32")
rates = [0.01 * 0.98 ** k for k in range(161)]
x = tf.placeholder(tf.float32, [None, 4])
w = tf.placeholder_with_default(1.0, [])
beta = tf.Variable(1.0, trainable=False)
new = tf.placeholder(tf.float32, [])
to_beta = tf.assign(beta, new)
global_step = {made}
{rate}
loss = w * beta * tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - 1.0))
{train}
applied = next(op for op in tf.get_default_graph().get_operations() if op.type.endswith("ApplyGradientDescent"))
given = [w * beta, applied.inputs[1]]
TAKEN, EVENTS = [], []


def draw():
    return data[np.random.randint(0, 64, 4)]


def keep(step):
    EVENTS.append(len(TAKEN))
    with open(os.devnull, "w") as f:
        f.write(str(step))


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
"""
LOOPS = {
    "numbered": ("for step in range(160):\n    {body}", "step"),
    "while": ("step = 0\nwhile step < 160:\n    {body}\n    step += 1", "step"),
    "counted": (
        "step = 0\nfor epoch in range(10):\n    for k in range(16):\n        {body}\n        step += 1",
        "step",
    ),
    "epoch": (
        "for epoch in range(10):\n    for k in range(len(data) // 4):\n        step = epoch * (len(data) // 4) + k\n"
        "        {body}",
        "step",
    ),
    "graph": ("for _ in range(160):\n    step = sess.run(global_step)\n    {body}", "step"),
    "until": (
        "step = 0\nwhile step < 160:\n    {body}\n    step = tf.train.global_step(sess, global_step)",
        "step",
    ),
}
MADE = ("tf.train.get_or_create_global_step()", "tf.Variable(0, trainable=False)")
TRAINS = {
    "given": "train = tf.train.GradientDescentOptimizer(lr).minimize(loss, global_step=global_step)",
    "by hand": "opt = tf.train.GradientDescentOptimizer(lr).minimize(loss)\n"
    "with tf.control_dependencies([opt]):\n    train = tf.group(tf.assign_add(global_step, 1))",
}
FED = "lr = tf.placeholder_with_default(0.01, [])"
SET = "lr = tf.Variable(0.01, trainable=False)\nto_lr = tf.assign(lr, new)"
STEP = "TAKEN.append([float(n) for n in sess.run([train, *given], {{x: draw()FEED}})[1:]])"
USES = {
    "fed": (FED, "", ", lr: 0.01 * 0.9 ** ({step} / 20)", ""),
    "staircase": (FED, "", ", lr: 0.01 * 0.5 ** ({step} // 40)", ""),
    "named": (FED, "now = 0.01 if {step} < 80 else 0.002", ", lr: now", ""),
    "table": (FED, "", ", lr: rates[{step}]", ""),
    "assigned": (SET, "sess.run(tf.assign(lr, 0.01 * 0.9 ** ({step} / 20)))", "", ""),
    "set": (SET, "sess.run(to_lr, {{new: 0.01 * 0.9 ** ({step} / 20)}})", "", ""),
    "loaded": (SET, "lr.load(0.01 * 0.9 ** ({step} // 16), sess)", "", ""),
    "graph": ("lr = tf.train.exponential_decay(0.01, global_step, 20, 0.9)", "", "", ""),
    "piecewise": (
        "lr = tf.train.piecewise_constant(global_step, [40, 100], [0.01, 0.005, 0.001])",
        "",
        "",
        "",
    ),
    "weight": (FED, "", ", w: min(1.0, {step} / 100)", ""),
    "weight set": (FED, "sess.run(to_beta, {{new: min(1.0, {step} / 100)}})", "", ""),
    "weight loaded": (FED, "beta.load(0.98 ** {step}, sess)", "", ""),
    "every": (FED, "", "", "if {step} % 20 == 0:\n    keep({step})"),
    "next": (FED, "", "", "if ({step} + 1) % 20 == 0:\n    keep({step})"),
    "listed": (FED, "", "", "if {step} in (30, 60, 120):\n    keep({step})"),
    "from": (FED, "", "", "if {step} >= 100 and {step} % 10 == 0:\n    keep({step})"),
}


def every() -> list[Program]:
    """All of them."""
    return list(_all())


def some(number: int, seed: int) -> list[Program]:
    """Some of them, by chance but for the seed."""
    return random.Random(seed).sample(every(), number)


def _all() -> Iterator[Program]:
    for loop, made, train, use in itertools.product(LOOPS, MADE, TRAINS, USES):
        around, count = LOOPS[loop]
        rate, before, fed, after = USES[use]
        body = "\n".join(s for s in (before, STEP.replace("FEED", fed), after) if s).format(step=count)
        place = next(line for line in around.splitlines() if "{body}" in line)
        inside = textwrap.indent(body, place[: len(place) - len(place.lstrip())]).lstrip()
        text = HEAD.format(made=made, rate=rate, train=TRAINS[train])
        text += textwrap.indent(around.format(body=inside), "    ") + "\n"
        yield Program(f"{loop}, {made}, {train}, {use}", text)
