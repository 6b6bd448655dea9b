"""G4: loops that end when a signal comes, which ranks get at different steps."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import signal
import threading
import numpy as np
import tensorflow as tf

{flag}

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
opt = tf.keras.optimizers.Adam(0.02)
data = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).shuffle(200).batch(10)
for epoch in range(3):
    for a in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(a)))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        if {asked}:
            break
"""
GLOBAL = """\
stop = False


def on_term(number, frame):
    global stop
    stop = True


signal.signal(signal.SIGTERM, {handler})"""
OBJECT = """\
class Killer:
    now = False

    def __init__(self):
        signal.signal(signal.SIGINT, self.exit)

    def exit(self, *given):
        self.leave()

    def leave(self):
        self.now = True


killer = Killer()"""
ITEM = """\
stop = {"now": False}


def on_term(number, frame):
    stop["now"] = True


signal.signal(signal.SIGTERM, on_term)"""
EVENT = """\
stop = threading.Event()
signal.signal(signal.SIGUSR1, lambda number, frame: stop.set())"""


@pytest.mark.parametrize(
    ("flag", "asked"),
    [
        (GLOBAL.format(handler="on_term"), "stop"),
        (GLOBAL.format(handler="on_term"), "stop and epoch > 0"),
        (OBJECT, "killer.now"),
        (ITEM, 'stop["now"]'),
        (EVENT, "stop.is_set()"),
    ],
)
def test_all_ranks_leave_a_loop_when_one_has_got_a_signal(flag: str, asked: str) -> None:
    """The others waited forever for the rank that left first."""
    assert f"if any_rank({asked}):" in plan_of(PROGRAM.format(flag=flag, asked=asked)).text


@pytest.mark.parametrize(
    ("flag", "asked"),
    [
        (GLOBAL.format(handler="signal.SIG_IGN"), "stop"),  # that function is never called
        ("stop = False", "stop"),
        (ITEM.replace('stop["now"] = True', 'stop["seen"] = True'), 'stop["now"]'),
        (
            "stop = threading.Event()\nsignal.signal(signal.SIGUSR1, lambda number, frame: print(1))",
            "stop.is_set()",
        ),
    ],
)
def test_what_no_signal_sets_is_asked_alone(flag: str, asked: str) -> None:
    assert f"if {asked}:" in plan_of(PROGRAM.format(flag=flag, asked=asked)).text
