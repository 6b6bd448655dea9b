"""Updates once in so many steps of an epoch that counts from its start: on many ranks an epoch may have fewer."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import numpy as np
import tensorflow as tf

x, y = np.ones((480, 4), "float32"), np.ones((480, 1), "float32")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.legacy.SGD(0.1)
batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)


def train(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


"""
COUNTED = """\
{first}
for epoch in range(3):
    {begin}
    for {turn} in {turns}:
        {rows}
        train(a, b)
        {count}
        if {test}:
            train(a, -b)
        {later}
"""
ROWS = "i = np.random.choice(480, 16); a, b = x[i], y[i]"


def is_said(text: str) -> bool:
    plan = distribute(summarize(Document(HEAD + text)))
    assert isinstance(plan, Plan)
    return any("may no longer have" in note.message for note in plan.notes)


def loop(
    turn: str,
    turns: str,
    test: str,
    rows: str = "pass",
    *,
    first: str = "",
    begin: str = "pass",
    count: str = "pass",
    later: str = "pass",
) -> str:
    return COUNTED.format(
        turn=turn, turns=turns, test=test, rows=rows, first=first, begin=begin, count=count, later=later
    )


IN_METHOD = """\
class Trainer:
    def epoch(self):
        self.n = 0
        for a, b in batches:
            train(a, b)
            self.n += 1
            if self.n % 10 == 0:
                train(a, -b)


trainer = Trainer()
for epoch in range(3):
    trainer.epoch()
"""


@pytest.mark.parametrize(
    "text",
    [
        loop("n, (a, b)", "enumerate(batches, 1)", "n % 10 == 0"),
        loop("n, (a, b)", "enumerate(batches, start=1)", "not n % 10"),
        loop("n, (a, b)", "batches.enumerate(start=1)", "n % 10 == 0"),
        loop("n, (a, b)", "enumerate(batches)", "(n + 1) % 10 == 0"),
        loop("n, (a, b)", "enumerate(batches)", "n % 10 == 9"),
        loop("n, (a, b)", "enumerate(batches)", "n and n % 10 == 0"),
        loop("n, (a, b)", "enumerate(batches)", "n > 0 and n % 10 == 0"),
        loop("a, b", "batches", "n % 10 == 0", begin="n = 0", count="n += 1"),
        loop("a, b", "batches", "(n + 1) % 10 == 0", begin="n = 0", later="n += 1"),
        loop("n", "range(1, 31)", "n % 10 == 0", ROWS),
        loop("n", "range(30)", "(n + 1) % 10 == 0", ROWS),
        IN_METHOD,
    ],
)
def test_an_epoch_that_may_end_before_is_said(text: str) -> None:
    """On four ranks an epoch of 30 batches has 7, and the second step was never taken."""
    assert is_said(text)


@pytest.mark.parametrize(
    "text",
    [
        loop("n, (a, b)", "enumerate(batches)", "n % 10 == 0"),  # the first turn of each epoch
        loop("a, b", "batches", "n % 10 == 0", begin="n = 0", later="n += 1"),
        loop("a, b", "batches", "n % 10 == 0", first="n = 0", count="n += 1"),  # over all epochs
        loop("a, b", "batches", "epoch % 2 == 1"),
    ],
)
def test_what_an_epoch_comes_to_is_not(text: str) -> None:
    assert not is_said(text)
