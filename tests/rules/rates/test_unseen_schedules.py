"""Schedules of classes that can't be seen: another one goes around them, with the rate and the steps of all ranks (C5)."""

from __future__ import annotations

import types

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import STEP, TF, plan_of

LOOP = (
    TF
    + """\
from others import LinearDecay
data = tf.data.TFRecordDataset(name).map(parse).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(LinearDecay(0.1, {steps}))
for epoch in range(10):
    for x in data:
"""
    + "".join(f"        {line}\n" for line in STEP.splitlines())
)


def rate_at(text: str, step: int, size: int) -> float:
    """The rate that the class gives that goes around another schedule, one that gives the step that it is told."""
    made = text.index("class ")
    keras = types.SimpleNamespace(LearningRateSchedule=object)
    tf = types.SimpleNamespace(keras=types.SimpleNamespace(optimizers=types.SimpleNamespace(schedules=keras)))
    space = {"tf": tf, "hvd": types.SimpleNamespace(size=lambda: size)}
    exec(text[made : text.index("data = ", made)], space)
    around = text.split("SGD(", 1)[1].split("(", 1)[0]
    return float(space[around](float)(step))  # type: ignore[operator]


def test_it_is_told_the_steps_of_all_ranks() -> None:
    """Told those of one, it would go on to the end of size() times as many rows."""
    text = plan_of(LOOP.format(steps="1000 * 10")).text
    assert "SGD(AllRanksSchedule(LinearDecay(0.1, 1000 * 10)))" in text
    assert [rate_at(text, step, 4) for step in (0, 5)] == [0, 5 * 4 * 4]
    assert rate_at(text, 5, 1) == 5


@pytest.mark.parametrize("steps", ["len(list(data)) * 10", "data.cardinality().numpy() * 10"])
def test_one_that_is_made_with_a_number_of_a_rank_is_told_those(steps: str) -> None:
    text = plan_of(LOOP.format(steps=steps)).text
    assert "SGD(ScaledSchedule(LinearDecay" in text
    assert rate_at(text, 5, 4) == 5 * 4


def test_where_rates_stay_the_steps_are_told() -> None:
    plan = distribute(summarize(Document(LOOP.format(steps="1000"))), Options(rate="keep"))
    assert isinstance(plan, Plan)
    assert rate_at(plan.text, 5, 4) == 5 * 4


def test_where_steps_are_not_divided_the_rate_is_scaled() -> None:
    text = plan_of(LOOP.format(steps="1000"), split_data=False).text
    assert rate_at(text, 5, 4) == 5 * 4
