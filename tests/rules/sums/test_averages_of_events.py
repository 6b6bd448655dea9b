"""G5: sums since the last event of those that come every so many steps are averages of a rank's steps."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import TF, plan_of

HEAD = (
    TF
    + """
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
total, step, other = 0.0, 0, 0.0
for epoch in range(9):
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        total += float(loss)
        step += 1
"""
)
OWN = "max(1, 50 // hvd.size())"


def text_of(turn: str, head: str = HEAD) -> str:
    return plan_of(head + textwrap.indent(turn, "        ")).text


@pytest.mark.parametrize(
    "turn",
    [
        "if step % 50 == 0:\n    mean, total = total / 50, 0.0\n",
        "if step % 50:\n    continue\nmean = total / 50\ntotal = 0.0\n",
        "if step % 50 != 0:\n    continue\nmean = total / 50\ntotal = 0.0\n",
        "if not step % 50 == 0:\n    continue\nmean = total / 50\ntotal = 0.0\n",
    ],
)
def test_a_mean_since_the_last_event(turn: str) -> None:
    """After `if step % 50: continue` it was 1/size() of that of one process."""
    assert f"total / {OWN}" in text_of(turn + "if mean < 0.01:\n    model.save_weights('model.h5')\n")


METER = """
class Meter:
    def __init__(self, every):
        self.total, self.every, self.count = 0.0, every, 0
    def add(self, loss):
        self.count += 1
        self.total += loss
        if self.count % self.every:
            return None
        mean = self.total / self.every
        self.total = 0.0
        return mean
meter = Meter(50)
"""


def test_a_method_that_each_step_calls_and_that_returns_before() -> None:
    text = text_of("mean = meter.add(float(loss))\n", HEAD.replace("total, step", METER + "total, step"))
    assert "mean = self.total / max(1, self.every // hvd.size())" in text


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "turn",
    [
        "if step % 50 == 0:\n    continue\nmean = total / 50\ntotal = 0.0\n",  # what comes with all other steps
        "if step % 50:\n    continue\nmean = total / 50\n",  # goes on
        "if step % 50:\n    continue\nmean = total / 40\ntotal = 0.0\n",
        "if step % 50:\n    other = 1.0\nmean = total / 50\ntotal = 0.0\n",  # leaves nothing out
        "mean = total / 50\nif step % 50:\n    continue\ntotal = 0.0\n",  # before it
    ],
)
def test_what_is_no_mean_since_an_event_stays(turn: str) -> None:
    assert f"total / {OWN}" not in text_of(turn)
