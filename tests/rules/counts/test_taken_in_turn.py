"""Decisions that an iterator gives, one with each step, come as often for the rows that all ranks see."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import itertools
import numpy as np
import tensorflow as tf

x, y = np.ones((640, 4), "float32"), np.ones((640, 1), "float32")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640).batch(16).repeat(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
target = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)


def train_step(bx, by, weight=1.0):
    with tf.GradientTape() as tape:
        loss = weight * tf.reduce_mean((model(bx) - by) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def every(n):
    while True:
        for _ in range(n - 1):
            yield False
        yield True


"""
LOOP = "for bx, by in ds:\n    train_step(bx, by)\n"
COPY = "        target.set_weights(model.get_weights())\n"
CYCLE = "due = itertools.cycle([False] * 39 + [True])\n"


def plan_of(text: str) -> Plan:
    plan = distribute(summarize(Document(HEAD + text)))
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize(
    ("made", "test", "after"),
    [
        (CYCLE, "next(due)", "any([next(due) for _ in range(hvd.size())])"),
        ("due = every(40)\n", "next(due)", "any([next(due) for _ in range(hvd.size())])"),
        (
            "due = itertools.cycle('aaab')\n",
            "next(due) == 'b'",
            "any([next(due) == 'b' for _ in range(hvd.size())])",
        ),
        (
            "due = iter([False, True] * 99)\n",
            "x is not None and next(due)",
            "x is not None and any([next(due) for _ in range(hvd.size())])",
        ),
    ],
)
def test_it_comes_as_often(made: str, test: str, after: str) -> None:
    plan = plan_of(f"{made}{LOOP}    if {test}:\n{COPY}")
    assert f"    if {after}:\n" in plan.text
    assert not plan.to_confirm


def test_one_that_has_a_name_is_asked_about() -> None:
    plan = plan_of(f"{CYCLE}{LOOP}    is_due = next(due)\n    if is_due:\n{COPY}")
    assert [c.rule for c in plan.to_confirm] == ["G5"]


@pytest.mark.parametrize(
    "text",
    [
        "turns = itertools.cycle('ab')\nfor bx, by in ds:\n    if next(turns) == 'a':\n        train_step(bx, by)\n"
        "    else:\n        train_step(bx, by, 2.0)\n",  # which updates go with which
        f"{CYCLE}{LOOP}    if next(due):\n        print('.')\n",  # what is shown
        f"{CYCLE}{LOOP}for _ in range(3):\n    if next(due):\n{COPY}",  # with no step
    ],
)
def test_what_goes_with_steps_or_with_none_stays(text: str) -> None:
    plan = plan_of(text)
    assert "any([" not in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize("made", [CYCLE, "due = every(40)\n"])
def test_what_goes_on_from_its_last_value_is_done_for_each(made: str) -> None:
    lowers = "        optimizer.learning_rate.assign(optimizer.learning_rate * 0.9)\n"
    plan = plan_of(f"{made}{LOOP}    if next(due):\n{lowers}")
    assert f"    for _ in range(sum([bool(next(due)) for _ in range(hvd.size())])):\n{lowers}" in plan.text
    plan = plan_of(f"{made}{LOOP}    if x is not None and next(due):\n{lowers}")
    assert [c.rule for c in plan.to_confirm] == ["G5"]
