"""G2: a copy that goes by two names is sent once; two copies are both sent."""

from __future__ import annotations

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x = np.load("x.npy")


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])


class Average:
    def __init__(self, source, target):
        self.source, self.target = source, target

    def update(self):
        for s, t in zip(self.source.weights, self.target.weights):
            t.assign(0.9 * t + 0.1 * s)


class Trainer:
    def __init__(self):
        self.net, self.slow, self.other = build(), build(), build()
        self.opt = tf.keras.optimizers.Adam(0.01)
        self.slow.set_weights(self.net.get_weights())
        self.first = Average(self.net, self.slow)
        {more}

    def show(self, a):
        return self.slow(a)

    def train(self):
        for i in range(0, len(x), 32):
            a = x[i : i + 32]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.net(a) - self.slow(a)))
            grads = tape.gradient(loss, self.net.trainable_variables)
            self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
            self.first.update()
            {again}


Trainer().train()
"""


def sent(more: str = "pass", again: str = "pass") -> str:
    text = plan_of(PROGRAM.format(more=more, again=again)).text
    return "\n".join(
        line for line in text.splitlines() if "broadcast_variables" in line or "in (self." in line
    )


def test_a_copy_that_goes_by_two_names_is_sent_once() -> None:
    lines = sent()
    assert lines.count("self.slow.variables") + lines.count("self.first.target.variables") == 1


def test_two_copies_are_both_sent() -> None:
    lines = sent("self.second = Average(self.net, self.other)", "self.second.update()")
    assert "self.slow.variables" in lines or "self.first.target.variables" in lines
    assert "self.second.target.variables" in lines or "self.other.variables" in lines
