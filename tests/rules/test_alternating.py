"""What turns tell by their number: which of two networks a step trains, by helpers and arguments; numbers of NumPy."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import numpy as np
import tensorflow as tf

x, y = np.ones((160, 4), "float32"), np.ones((160, 1), "float32")
a = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
b = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer, other = tf.keras.optimizers.legacy.SGD(0.1), tf.keras.optimizers.legacy.SGD(0.1)


def train_step(bx, by, net, optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))


def train_a(bx, by):
    train_step(bx, by, a, optimizer)


def train_b(bx, by):
    train_step(bx, by, b, other)


def train_and_save(rows, targets):
    train_a(rows, targets)
    a.save_weights("a.h5")


for step in range(60):
    i = np.random.randint(0, 160, 8)
"""


def text_of(text: str) -> str:
    plan = distribute(summarize(Document(text)))
    assert isinstance(plan, Plan)
    return plan.text


@pytest.mark.parametrize(
    "turn",
    [
        "    if step % 2:\n        train_a(x[i], y[i])\n    else:\n        train_b(x[i], y[i])\n",
        "    train_step(x[i], y[i], a if step % 2 else b, optimizer)\n",
        "    train_step(x[i], y[i], net=b if step % 3 == 1 else a, optimizer=optimizer)\n",
        "    train_step(x[i], y[i], (a, b)[step % 2], optimizer)\n",
        "    train_step(x[i], y[i], {0: a, 1: b}[step % 2], optimizer)\n",
        "    net = [a, b][step % 2 == 0]\n    train_step(x[i], y[i], net, optimizer)\n",
    ],
)
def test_networks_take_turns_as_before(turn: str) -> None:
    assert turn in text_of(HEAD + turn)


def test_an_event_beside_one_of_two_ways_to_take_the_same_step_comes_as_often() -> None:
    turn = (
        "    if step % 20 == 0:\n        train_and_save(x[i], y[i])\n    else:\n        train_a(x[i], y[i])\n"
    )
    assert "    if step % max(1, 20 // hvd.size()) == 0:\n" in text_of(HEAD + turn)


def test_a_number_that_a_step_is_given_goes_by_the_steps_of_all() -> None:
    turn = "    train_step(x[i], y[i] * 0.99**step, a, optimizer)\n"
    assert "y[i] * 0.99**(step * hvd.size())" in text_of(HEAD + turn)


@pytest.mark.parametrize("event", ["a.assign(a * (abs(a) > least(step)))", "a.assign(a * least(step))"])
def test_what_variables_are_set_to_every_few_steps_goes_by_them_too(event: str) -> None:
    text = HEAD.replace("for step", "def least(n):\n    return 0.6 * min(n / 80, 1)\n\n\nfor step")
    turn = (
        f"    train_a(x[i], y[i])\n    if step % 10 == 9:\n        {event.replace('a.', 'a.weights[0].')}\n"
    )
    assert "0.6 * min(n * hvd.size() / 80, 1)" in text_of(
        text + turn
    ) or "least(step * hvd.size())" in text_of(text + turn)


@pytest.mark.parametrize("numbers", ["np.arange(60)", "np.arange(N)"])
def test_numbers_that_numpy_counts_are_a_range(numbers: str) -> None:
    text = HEAD.replace("x, y =", "N = 60\nx, y =").replace("range(60)", numbers)
    turn = "    train_a(x[i], y[i])\n    if step % 8 == 0 or step + 1 == N:\n        a.save_weights('a.h5')\n"
    after = text_of(text + turn)
    assert "rounds" not in after
    assert "step % max(1, 8 // hvd.size()) == 0 or step + 1 == " in after


def test_numbers_of_rows_are_dealt_out() -> None:
    text = HEAD.replace("range(60)", "np.arange(0, 160, 16)")
    after = text_of(text + "    train_a(x[step : step + 16], y[step : step + 16])\n")
    assert "for step in shard(np.arange(0, 160, 16)):" in after
