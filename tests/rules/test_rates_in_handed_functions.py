"""Rates that functions set which a program calls by a name, or out of a list: whose number they are told can't be seen."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
PART = """\
class Anneal:
    def on_step(self, {told}):
        opt.learning_rate.assign({rate})
"""
BY_NAME = """\
class Parts:
    def __init__(self, parts):
        self.parts = parts
    def call(self, name, *given):
        for part in self.parts:
            getattr(part, name)(*given)
parts = Parts([Anneal()])
"""
BY_ATTRIBUTE = """\
class Parts:
    def __init__(self, parts):
        self.parts = parts
    def __getattr__(self, name):
        def call(*given):
            for part in self.parts:
                getattr(part, name)(*given)
        return call
parts = Parts([Anneal()])
"""
LOOP = (
    "n = 0\nfor epoch in range(9):\n    for x, y in ds:\n        step(x, y)\n        n += 1\n        {call}\n"
)
CALLS = {BY_NAME: "parts.call('on_step', n)", BY_ATTRIBUTE: "parts.on_step(n)"}


def asks(told: str, rate: str, parts: str, call: str = "") -> bool:
    loop = LOOP.format(call=call or CALLS[parts])
    plan = plan_of(TAPE + DATA + PART.format(told=told, rate=rate) + parts + loop)
    return any("this rate goes by a count of steps" in c.doubt for c in plan.to_confirm)


@pytest.mark.parametrize("parts", [BY_NAME, BY_ATTRIBUTE])
@pytest.mark.parametrize(
    ("told", "rate"),
    [("step", "0.1 * 0.9 ** (step / 100)"), ("i", "0.1 / (1 + i)"), ("iteration", "f(iteration)")],
)
def test_a_number_that_may_be_of_a_step_is_asked_about(parts: str, told: str, rate: str) -> None:
    assert asks(told, rate, parts)


@pytest.mark.parametrize("parts", [BY_NAME, BY_ATTRIBUTE])
@pytest.mark.parametrize(("told", "rate"), [("epoch", "0.1 * 0.9 ** epoch"), ("lr", "lr"), ("step", "0.01")])
def test_what_numbers_no_step_is_not(parts: str, told: str, rate: str) -> None:
    assert not asks(told, rate, parts)


def test_a_call_that_can_be_seen_tells_the_steps_of_all_ranks() -> None:
    text = plan_of(
        TAPE + DATA + PART.format(told="step", rate="0.1 * 0.9 ** step") + "part = Anneal()\n"
        + LOOP.format(call="part.on_step(n)")
    ).text  # fmt: skip
    assert "0.1 * 0.9 ** (step * hvd.size()) * hvd.size()" in text
    assert not asks("step", "0.1 * 0.9 ** step", "part = Anneal()\n", "part.on_step(n)")


COUNTS = """\
class Counts:
    def __init__(self):
        self.taken = 0
    def one(self):
        self.taken += 1
    @property
    def {name}(self):
        return self.taken
counts = Counts()
"""


@pytest.mark.parametrize("name", ["value", "number"])
def test_a_property_gives_the_count_that_it_returns(name: str) -> None:
    turn = f"counts.one()\n        opt.learning_rate.assign(0.1 * 0.9 ** counts.{name})"
    text = plan_of(TAPE + DATA + COUNTS.format(name=name) + LOOP.format(call=turn)).text
    assert f"0.1 * 0.9 ** (counts.{name} * hvd.size()) * hvd.size()" in text
