"""G2, K6: networks that are sent already where a further step of theirs comes are not sent again."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf


def build():
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    net.compile(tf.keras.optimizers.Adam(0.01), "mse")
    return net


class Trainer:
    def __init__(self):
        self.net, self.other = build(), build()

    def step(self, a):
        {before}
        {first}
        {between}
        if np.random.RandomState(0).rand() < 0.5:
            {again}
"""
STEP = "self.net.train_on_batch(a, a)"
SENT = "self.net.variables"
IN_TURNS = "for _ in range(5):\n                self.net.train_on_batch(a, a)"


def times(**parts: str) -> int:
    given = {"before": "pass", "first": STEP, "between": "pass", "again": STEP} | parts
    return plan_of(PROGRAM.format(**given)).text.count("hvd.broadcast_variables(")


@pytest.mark.parametrize("again", [STEP, IN_TURNS])
def test_a_further_step_of_the_same_network_sends_nothing(again: str) -> None:
    assert times(again=again) == times(again="pass") > 0


@pytest.mark.parametrize(
    "parts",
    [
        {"first": "self.other.train_on_batch(a, a)"},  # another network
        {"first": "if len(a) > 9:\n            " + STEP},  # which may not come
        {"between": "self.net = build()"},  # a new one
    ],
)
def test_what_is_not_sent_for_sure_is(parts: dict[str, str]) -> None:
    once = times(again="pass", **parts)
    assert times(**parts) > once
