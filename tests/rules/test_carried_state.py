"""Batches of loops whose steps hand a state on, as recurrent networks do, have an order: they are not dealt out."""

from __future__ import annotations

import pytest

from .pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
cell = tf.keras.layers.GRU(8, return_sequences=True, return_state=True)
out = tf.keras.layers.Dense(1)
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(4)
def train(x, y, state):
    with tf.GradientTape() as tape:
        seen, state = cell(x, initial_state=state)
        loss = tf.reduce_mean((out(seen) - y) ** 2)
    weights = cell.trainable_variables + out.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss, state
"""


def is_dealt(loop: str) -> bool:
    plan = plan_of(HEAD + loop)
    dealt = "shard_dataset(" in plan.text
    assert ("SGD(0.1 * hvd.size())" in plan.text) is dealt
    assert any("state" in n.message for n in plan.notes) is not dealt
    return dealt


@pytest.mark.parametrize(
    "loop",
    [
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    loss, h = train(x, y, h)\n",
        "for epoch in range(3):\n    h = cell.get_initial_state(batch_size=4)\n    for x, y in ds:\n"
        "        loss, h = train(x, y, h)\n",
        "h = None\nfor x, y in ds:\n    loss, h = train(x, y, h)\n    h = tf.stop_gradient(h)\n",
        "h = [tf.zeros([4, 8]) for _ in range(1)]\nfor i, (x, y) in enumerate(ds):\n    loss, h = train(x, y, state=h)\n",
        "h = np.zeros((4, 8))\nfor x, y in ds:\n    with tf.GradientTape() as tape:\n"
        "        seen, h = cell(x, initial_state=h)\n"
        "        loss = tf.reduce_mean((out(seen) - y) ** 2)\n    w = cell.trainable_variables\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, w), w))\n",
    ],
)
def test_a_state_that_goes_from_step_to_step(loop: str) -> None:
    assert not is_dealt(loop)


@pytest.mark.parametrize(
    "loop",
    [
        # begins again with each batch
        "for x, y in ds:\n    h = tf.zeros([4, 8])\n    loss, h = train(x, y, h)\n",
        # what is given is not handed on
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    loss, last = train(x, y, h)\n",
        # a sum over the steps
        "def add(total, loss):\n    return total + loss\ntotal = tf.zeros([])\nh = tf.zeros([4, 8])\nfor x, y in ds:\n"
        "    loss, _ = train(x, y, h)\n    total = add(total, loss)\n",
        # within one step
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    loss, _ = train(x, y, h)\n    for t in range(3):\n"
        "        seen, h2 = cell(x)\n",
    ],
)
def test_near_misses(loop: str) -> None:
    assert is_dealt(loop)
