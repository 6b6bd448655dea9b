"""G4: a signal that one rank gets ends the loop of all, whether the loop tests it in its head or leaves by a `break`."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import signal
import time
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
stop, begun, step = False, time.time(), 0


def handler(*_):
    global stop
    stop = True


signal.signal(signal.SIGUSR1, handler)
{head}
    rows = x[np.random.randint(0, len(x), 16)]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step += 1
"""


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (
            "while step < 4000 and not stop:",
            "while not any_rank(not (step < 4000 // hvd.size() and not stop)):",
        ),
        (
            "while not stop and time.time() - begun < 20:",
            "while not any_rank(not (not stop and time.time() - begun < 20)):",
        ),
        ("while time.time() - begun < 20:", "while any_rank(time.time() - begun < 20):"),
        ("while not stop:", "while not any_rank(stop):"),
    ],
)
def test_the_head_of_a_loop(head: str, told: str) -> None:
    assert told in plan_of(PROGRAM.format(head=head)).text


def test_a_break() -> None:
    text = plan_of(PROGRAM.format(head="for step in range(4000):\n    if stop:\n        break")).text
    assert "for step in range(4000 // hvd.size()):\n    if any_rank(stop):" in text
