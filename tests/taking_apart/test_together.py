"""Numbers that one assignment counts on together are told of other ranks' steps each by itself."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import numpy as np
import tensorflow as tf

x, y = np.ones((640, 4), "float32"), np.ones((640, 1), "float32")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640).batch(16).repeat(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
target = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.build((None, 4))
target.build((None, 4))
optimizer = tf.keras.optimizers.SGD(0.01)
step, rows, seen, total = 0, 0, 0, 0.0


def told(x):
    return x[seen:]


def shown(x):
    return x


for bx, by in ds:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""


def text_of(*lines: str) -> str:
    plan = distribute(summarize(Document(HEAD + "".join(f"    {line}\n" for line in lines))))
    assert isinstance(plan, Plan)
    return plan.text


@pytest.mark.parametrize(
    "counts",
    [
        "step, rows = step + 1, rows + len(bx)",
        "(step, rows) = (step + 1, rows + len(bx))",
        "rows, step = len(bx) + rows, 1 + step",
        "step, rows, last = step + 1, rows + len(bx), loss",
        "step, last = step + 1, float(loss.numpy())",
        "step, last = step + 1, shown(loss)",
        "step, (last, _) = step + 1, (loss, 0)",
        "x = 1; step, last = step + 1, loss",
        "step, rows = (\n        step + 1,\n        rows + len(bx),\n    )",
    ],
)
def test_each_goes_by_the_steps_of_all_ranks(counts: str) -> None:
    text = text_of(
        counts,
        "if step % 40 == 0:",
        "    target.set_weights(model.get_weights())",
        "optimizer.learning_rate.assign(0.01 * 0.99 ** step)",
    )
    assert "if step % max(1, 40 // hvd.size()) == 0:" in text
    assert "0.01 * 0.99 ** (step * hvd.size()) * hvd.size()" in text


def test_rows_that_are_counted_are_those_of_all_ranks() -> None:
    text = text_of("step, rows = step + 1, rows + len(bx)", "if rows >= 1600:", "    break")
    assert "    step = step + 1\n    rows = rows + len(bx) * hvd.size()\n" in text


def test_on_a_line_with_others_they_stay_on_it() -> None:
    text = text_of(
        "if True: step, rows = step + 1, rows + 16",
        "if step % 40 == 0:",
        "    target.set_weights(model.get_weights())",
    )
    assert "if step % max(1, 40 // hvd.size()) == 0:" in text


@pytest.mark.parametrize(
    "counts",
    [
        "step, rows = step + 1, rows + step",  # reads what the first sets
        "step, *rest = step + 1, 2, 3",
        "seen, step = seen + 1, told(bx)",  # may read what the first sets
        "step, last = step + 1, loss",  # nothing is read of them
        "x = 1; step, last = step + 1, loss",
    ],
)
def test_what_needs_no_change_or_would_come_to_something_else_stays(counts: str) -> None:
    assert f"    {counts}\n" in text_of(counts)
