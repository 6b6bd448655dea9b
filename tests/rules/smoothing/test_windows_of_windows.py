"""A window that gets what falls out of another one holds 1/size() of the steps, too."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

TEXT = """\
from collections import deque
import numpy as np
import tensorflow as tf

x, y = np.ones((512, 4), "float32"), np.ones((512, 1), "float32")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.legacy.SGD(0.1)
batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).batch(16)
older, newer = deque(maxlen=24), deque(maxlen=16)
for epoch in range(3):
    for a, b in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        {moves}
        newer.append(float(loss))
        if older and np.mean(newer) > 0.97 * np.mean(older):
            optimizer.learning_rate = 0.01
"""


def text_of(moves: str) -> str:
    plan = distribute(summarize(Document(TEXT.format(moves=moves))))
    assert isinstance(plan, Plan)
    return plan.text


@pytest.mark.parametrize(
    "moves",
    [
        "if len(newer) == newer.maxlen: older.append(newer.popleft())",
        "if len(newer) == 16:\n            first = newer.popleft()\n            older.append(first)",
    ],
)
def test_both_are_divided(moves: str) -> None:
    """The older one held as many of a rank's steps as before, of size() times the rows, and was compared with the newer."""
    text = text_of(moves)
    assert "deque(maxlen=max(1, 24 // hvd.size())), deque(maxlen=max(1, 16 // hvd.size()))" in text


def test_one_that_gets_something_else_now_and_then_is_not() -> None:
    assert "older, newer = deque(maxlen=24), deque(maxlen=max(1, 16 // hvd.size()))" in text_of(
        "if epoch and not older: older.append(0.5)"
    )
