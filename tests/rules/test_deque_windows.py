"""G7: windows over a rank's last losses by which it decides."""

from __future__ import annotations

import pytest

from .pairs import plan_of

PROGRAM = """\
import collections
import numpy as np
import tensorflow as tf
K = 20
window = collections.deque(maxlen={size})
ds = tf.data.Dataset.from_tensor_slices(np.zeros((1600, 3))).shuffle(1600).repeat().batch(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for step, x in enumerate(ds.take(9000)):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    window.append({item})
    if {test}:
        {then}
"""


def distributed(test: str, then: str = "break", item: str = "float(loss)", size: str = "20") -> str:
    return plan_of(PROGRAM.format(test=test, then=then, item=item, size=size)).text


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("np.mean(window) < 0.1", ""),
        ("len(window) == 20 and np.mean(window) < 0.1", "len(window) == max(1, 20 // hvd.size())"),
        ("len(window) >= 20 and sum(window) / len(window) < 0.1", "len(window) >= max(1, 20 // hvd.size())"),
        ("len(window) == 20 and sum(window) / 20 < 0.1", "sum(window) / max(1, 20 // hvd.size())"),
    ],
)
def test_a_window_holds_the_losses_of_as_many_rows(test: str, after: str) -> None:
    text = distributed(test)
    assert "window = collections.deque(maxlen=max(1, 20 // hvd.size()))\n" in text
    assert after in text


def test_a_length_that_has_a_name_is_divided_where_it_is_used() -> None:
    text = distributed("len(window) == K and np.mean(window) < 0.1", size="K")
    assert "window = collections.deque(maxlen=max(1, K // hvd.size()))\n" in text
    assert "len(window) == max(1, K // hvd.size())" in text


def test_a_sum_over_a_window_is_asked_about() -> None:
    plan = plan_of(PROGRAM.format(test="sum(window) < 3", then="break", item="float(loss)", size="20"))
    assert any("their sum is taken" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("test", "then", "item"),
    [
        ("step % 100 == 0", "print(np.mean(window))", "float(loss)"),  # only shown
        ("len(window) == 20", "break", "x"),  # kept for something else
    ],
)
def test_other_windows_are_left(test: str, then: str, item: str) -> None:
    assert "window = collections.deque(maxlen=20)\n" in distributed(test, then, item)
