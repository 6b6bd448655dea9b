"""G4: the event of the last turn, where the number of turns is one more than a multiple of its period."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

LOOP = """\
import sys
rows = iter(tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4))
total = 0.0
steps = {steps}
for turn in {numbers}:
    x, y = next(rows)
    total += step(x, y)
    {event}
{after}
"""
EVENT = "if turn % 2000 == 0: model.save('m')"


def text(
    steps: str = "10001", numbers: str = "range(steps)", event: str = EVENT, after: str = "print(total)"
) -> str:
    return plan_of(TAPE + LOOP.format(steps=steps, numbers=numbers, event=event, after=after)).text


@pytest.mark.parametrize(
    "event",
    [
        EVENT,
        "if not turn % 2000: model.save('m')",
        "if turn % 2000 == 0 and turn > 0: model.save('m')",
        "if turn % 2000 != 0: continue\n    model.save('m')",
        "if turn % 2000: continue\n    model.save('m')",
        "if turn % 3000 == 0: print(total)\n    if turn % 100 == 0: model.save('m')",
    ],
)
def test_the_last_turn_stays_one_more(event: str) -> None:
    """On two ranks the last event, at step 10000, was lost: 10001 // 2 turns end at 4999."""
    assert "range((steps - 1) // hvd.size() + 1):" in text(event=event)
    assert "range(10000 // hvd.size() + 1):" in text(numbers="range(10001)", event=event)
    assert "range(0, (steps - 1) // hvd.size() + 1):" in text(numbers="range(0, steps)", event=event)


def test_what_tells_the_last_turn_tells_it() -> None:
    told = text(numbers="range(10001)", event=f"{EVENT}\n    if turn == 10000: print(total)")
    assert "range(10000 // hvd.size() + 1):" in told
    assert "if turn == 10000 // hvd.size()" in told
    told = text(event=f"{EVENT}\n    if turn == steps - 1: print(total)")
    assert "steps = 10000 // hvd.size() + 1\n" in told
    assert "if turn == steps - 1" in told


def test_a_mean_over_the_turns_is_divided_by_as_many() -> None:
    assert "steps = 10000 // hvd.size() + 1\n" in text(after="print(total / steps)")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16])
def test_as_many_events_as_alone(size: int) -> None:
    every = max(1, 2000 // size)
    assert sum(turn % every == 0 for turn in range(10000 // size + 1)) >= 6
    assert abs((10000 // size + 1) * size - 10001) <= size


@pytest.mark.parametrize(
    ("steps", "event"),
    [
        ("10000", EVENT),
        ("10002", EVENT),
        ("10001", "if turn % 3000 == 0: model.save('m')"),
        ("10001", "if turn % 2000 == 1999: model.save('m')"),
        ("10001", "if (turn + 1) % 2000 == 0: model.save('m')"),
        ("10001", "if total % 2000 == 0: model.save('m')"),
        ("10001", "if turn % 20000 == 0: model.save('m')"),
        ("10001", "print(turn % 2000 == 1)"),
    ],
)
def test_other_turns_are_divided_as_before(steps: str, event: str) -> None:
    assert "range(steps // hvd.size()):" in text(steps, event=event)


def test_few_turns_and_those_that_are_not_written_out_are_divided_as_before() -> None:
    """Of few turns, one more on each rank is another budget."""
    assert "range(max(1, steps // hvd.size())):" in text("int(sys.argv[1])")
    assert "range(steps // hvd.size()):" in text("101", event="if turn % 20 == 0: model.save('m')")
    assert "range(1, 1 + max(1, 10000 // hvd.size())):" in text(numbers="range(1, 10001)")
    assert "range(10000 // hvd.size() + 1):" in text(numbers="range(10000 + 1)")


LAST = """\
import sys
rows = iter(tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4))
rate = 0.1
for turn in range(401):
    x, y = next(rows)
    step(x, y)
    if turn % 20 == 0:
        {does}
        if turn == 400:
            model.save('m')
"""
LOWERS = "rate *= 0.9; optimizer.learning_rate = rate"


@pytest.mark.parametrize("does", [LOWERS, f"if turn % 120 == 0: {LOWERS}"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 12, 24, 32])
def test_the_last_of_events_that_come_as_often_as_alone(does: str, size: int) -> None:
    """On 3 ranks the last event by 20 // 3 steps is none of those that come where all ranks pass a multiple of 20."""
    lines = plan_of(TAPE + LAST.format(does=does)).text.splitlines()
    told = next(line for line in lines if "if turn == " in line).strip()[3:].split(" and ")[0]
    around = next(line for line in lines if "hvd.size() % 20" in line).strip()[3:].rstrip(":")
    turns = next(line for line in lines if line.startswith("for turn in")).split(" in ")[1].rstrip(":")
    ranks = SimpleNamespace(size=lambda: size)
    come = [n for n in eval(turns, {"hvd": ranks}) if eval(around, {"turn": n, "hvd": ranks})]
    assert [n for n in come if eval(told, {"turn": n, "hvd": ranks})] == come[-1:]


def test_the_last_of_events_that_may_come_sooner() -> None:
    text = plan_of(TAPE + LAST.format(does="print(turn)")).text
    assert "// max(1, 20 // hvd.size()) * max(1, 20 // hvd.size())" in text
