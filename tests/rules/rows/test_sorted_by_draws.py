"""D3: rows that are sorted by numbers which are drawn, or picked by them out of a list, come in one order on all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import random
import numpy as np
import tensorflow as tf

x = np.load("x.npy")


def shuffled(rows):
{body}


def batches(size=10):
    out = []
    for r in shuffled(x):
        out.append(r)
        if len(out) == size:
            yield np.array(out)
            out = []


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01)
for rows in batches():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    w = model.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, w), w))
"""
BODIES = {
    "numbers in a list": "keys = [random.random() for _ in rows]\n"
    "for i in sorted(range(len(rows)), key=lambda i: keys[i]):\n    yield rows[i]",
    "pairs": "pairs = sorted([(random.random(), i) for i in range(len(rows))])\nfor _, i in pairs:\n    yield rows[i]",
    "a key": "for i in sorted(range(len(rows)), key=lambda _: random.random()):\n    yield rows[i]",
    "in place": "rows = list(rows)\nrows.sort(key=lambda _: random.random())\nyield from rows",
    "a place that is left out then": "left = list(range(len(rows)))\nwhile left:\n"
    "    k = int(random.random() * len(left))\n    yield rows[left[k]]\n    del left[k]",
}


def text_of(body: str) -> str:
    indented = "\n".join(f"    {line}" for line in body.split("\n"))
    return plan_of(SOURCE.format(body=indented)).text


@pytest.mark.parametrize("name", BODIES)
def test_all_ranks_have_one_order(name: str) -> None:
    """Each rank took its batches of an order of its own: some rows were seen twice, and others never."""
    text = text_of(BODIES[name])
    assert "alike(random.random)()" in text or "in hvd.broadcast_object(sorted(" in text


@pytest.mark.parametrize(
    "body",
    [
        "for r in rows:\n    yield r + random.random()",  # noise
        "for r in sorted(rows, key=sum):\n    yield r",
        "random.seed(3)\nkeys = [random.random() for _ in rows]\nyield from sorted(rows, key=lambda r: keys[0])",
    ],
)
def test_what_orders_nothing_or_is_seeded_stays(body: str) -> None:
    assert "alike" not in text_of(body)
