"""D3: seeds by which more is drawn than batches: which network a step trains; and batches that are drawn before the loop."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

NETWORKS = """\
import random
import numpy as np
import tensorflow as tf

{seed}
x, y = np.ones((160, 4), "float32"), np.ones((160, 1), "float32")
a = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
b = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.legacy.SGD(0.1)


def train_step(bx, by, net):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))


for step in range(60):
    i = {rows}
{chosen}
"""


def plan_of(text: str) -> Plan:
    plan = distribute(summarize(Document(text)))
    assert isinstance(plan, Plan)
    return plan


CHOSEN = {
    "an arm": "    net = a if {} < 0.5 else b\n    train_step(x[i], y[i], net)",
    "an argument": "    train_step(x[i], y[i], a if {} < 0.5 else b)",
    "a place": "    train_step(x[i], y[i], [a, b][int({} * 2)])",
}


@pytest.mark.parametrize("chosen", CHOSEN)
def test_a_seed_that_chooses_networks_alone_stays_as_it_is(chosen: str) -> None:
    """It was given again by rank: each rank trained another network, and gradients of the two were averaged."""
    chosen = CHOSEN[chosen].format("random.random()")
    plan = plan_of(NETWORKS.format(seed="random.seed(1)", rows="np.random.randint(0, 160, 8)", chosen=chosen))
    assert "random.seed(1)\n" in plan.text
    assert "hvd.rank())" not in plan.text
    assert "broadcast_new(" in plan.text  # of both, each when it is first trained
    assert not plan.to_confirm


@pytest.mark.parametrize("chosen", CHOSEN)
def test_one_that_draws_batches_too_is_asked_about(chosen: str) -> None:
    chosen = CHOSEN[chosen].format("rng.rand()")
    text = NETWORKS.format(
        seed="rng = np.random.RandomState(1)", rows="rng.randint(0, 160, 8)", chosen=chosen
    )
    (asked,) = plan_of(text).to_confirm
    assert asked.rule == "D3"
    assert "what decides about the steps" in asked.doubt


def test_so_is_one_by_which_a_test_decides() -> None:
    chosen = "    if rng.rand() < 0.5:\n        train_step(x[i], y[i], a)\n    else:\n        train_step(x[i], y[i], b)"
    text = NETWORKS.format(
        seed="rng = np.random.RandomState(1)", rows="rng.randint(0, 160, 8)", chosen=chosen
    )
    (asked,) = plan_of(text).to_confirm
    assert "what decides about the steps" in asked.doubt


DRAWN = """\
import numpy as np
import tensorflow as tf

np.random.seed(0)
net = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(1e-2)


def sample():
    return tf.constant(np.random.uniform(-1, 1, (400, 2)).astype("float32"))


{before}
for i in range(120):
    if i and i % 30 == 0:
        x = sample()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - tf.sin(3 * x[:, :1])) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""
SEEDED = "if hvd.size() > 1:\n    np.random.seed(hvd.rank())\n"


def test_the_rows_that_are_drawn_before_the_loop_are_a_ranks_own() -> None:
    """All ranks took their first 15 steps on the same rows, at twice the rate."""
    plan = plan_of(DRAWN.format(before="x = sample()"))
    assert SEEDED + "x = sample()\n" in plan.text
    assert not plan.to_confirm


def test_what_else_is_drawn_between_them_would_differ_and_is_asked_about() -> None:
    plan = plan_of(DRAWN.format(before="x = sample()\nweights = np.random.rand(3)"))
    assert [c.rule for c in plan.to_confirm] == ["D3"]


def test_rows_to_look_at_are_drawn_by_the_seed_of_all() -> None:
    plan = plan_of(DRAWN.format(before="shown = sample()\nx = tf.zeros((400, 2))"))
    assert "shown = sample()\nx = tf.zeros((400, 2))\n" + SEEDED in plan.text.replace(
        "first_batch = True\n", ""
    )
