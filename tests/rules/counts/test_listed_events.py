"""G5: events at steps that a program lists, or that can't be seen."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9).repeat().batch(4)\n"
LOOP = "for i, (x, y) in enumerate(ds.take(1000)):\n    step(x, y)\n"


@pytest.mark.parametrize(
    ("given", "event", "after"),
    [
        (
            "plan = [(0, 0.1), (300, 0.05)]\n",
            "    for when, rate in plan:\n        if i == when:\n            opt.learning_rate.assign(rate)\n",
            "        if i == (when and max(1, when // hvd.size())):\n            opt.learning_rate.assign(rate * hvd.size())\n",
        ),
        (
            "",
            "    for k in (300, 600):\n        if i >= k:\n            keep(k)\n",
            "        if i * hvd.size() >= k:\n            keep(k)\n",
        ),
    ],
)
def test_each_of_the_listed_numbers_is_divided(given: str, event: str, after: str) -> None:
    plan = plan_of(HEAD + given + LOOP + event)
    assert after in plan.text
    assert all(c.sure for c in plan.changes)


def test_numbers_that_cannot_be_seen_are_asked_about() -> None:
    event = (
        "    for when, rate in read():\n        if i == when:\n            opt.learning_rate.assign(rate)\n"
    )
    plan = plan_of(HEAD + "from plans import read\n" + LOOP + event)
    assert "        if i == when:\n" in plan.text
    assert any("isn't followed" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    "test", ["(i / 100).is_integer()", "str(i).endswith('00')", "not (i / 100).is_integer()"]
)
def test_what_a_method_says_of_a_count_is_asked_about(test: str) -> None:
    plan = plan_of(HEAD + LOOP + f"    if {test}:\n        keep(i)\n")
    assert any("isn't followed" in c.doubt for c in plan.changes)
    shown = plan_of(HEAD + LOOP + f"    if {test}:\n        print(i)\n")
    assert all(c.sure for c in shown.changes)


@pytest.mark.parametrize(
    ("event", "given"),
    [
        # of a rank's own steps
        ("    if i == last:\n        keep(i)\n    last = i\n", "last = 0\n"),
        # only shown
        (
            "    for when in read():\n        if i == when:\n            print(i)\n",
            "from plans import read\n",
        ),
    ],
)
def test_near_misses(event: str, given: str) -> None:
    assert all(c.sure for c in plan_of(HEAD + given + LOOP + event).changes)


CALLBACK = """\
import numpy as np
import tensorflow as tf
class Patient(tf.keras.callbacks.Callback):
    def __init__(self, every):
        self.seen, self.bad, self.best, self.every, self.patience = 0, 0, np.inf, every, 6
    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
{}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('sgd', 'mse')
model.fit(np.zeros((999, 2)), np.zeros((999, 1)), batch_size=9, callbacks=[Patient(50)])
"""
UNDER = """\
        if self.seen % self.every == 0:
            if self.model.evaluate(x, y) < self.best:
                self.bad = 0
            else:
                self.bad += 1
                if self.bad >= self.patience:
                    self.model.stop_training = True"""
AFTER = """\
        if self.seen % self.every:
            return
        self.bad += 1
        if self.bad >= self.patience:
            self.model.stop_training = True"""


@pytest.mark.parametrize("counts", [UNDER, AFTER])
def test_a_callback_counts_evaluations_as_often_as_alone(counts: str) -> None:
    text = plan_of(CALLBACK.format(counts)).text
    assert "self.bad >= self.patience:" in text


def test_it_counts_batches_fewer_times() -> None:
    """A near miss."""
    counts = "        self.bad += 1\n        if self.bad >= self.patience:\n            self.model.stop_training = True"
    assert "self.bad >= max(1, self.patience // hvd.size()):" in plan_of(CALLBACK.format(counts)).text


def test_numbers_that_are_taken_out_one_by_one_are_divided() -> None:
    event = "    while plan and i >= plan[0]:\n        keep(plan.pop(0))\n"
    text = plan_of(HEAD + "plan = [10, 300, 600]\n" + LOOP + event).text
    assert "    while plan and i >= max(1, plan[0] // hvd.size()):\n" in text


MEAN = """\
best = 9.0
for epoch in range(9):
    total, n = 0.0, 0
    for x, y in ds.take(90):
        total += float(step(x, y))
        n += 1
    if {} < best:
        model.save("best")
"""


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ("total / n", False),
        ("total / n * 2", False),
        ("n / total", True),
        ("total / n + n", True),
    ],
)
def test_a_mean_over_the_steps_is_one_of_however_many(test: str, asked: bool) -> None:
    plan = plan_of(HEAD + MEAN.format(test))
    assert any("isn't followed" in c.doubt for c in plan.changes) is asked
