"""What is made of what two ranks saw. That they see it: `tests/training/test_doctor.py`."""

from __future__ import annotations

from typing import Any

import pytest

from horovodize.diagnosing import State
from horovodize.diagnosing.two_ranks import judge

SAME = {"spread": 0.0, "moved": 0.1}
APART = {"spread": 0.2, "moved": 0.1}


def reports(**of_rank_1: Any) -> list[dict[str, Any]]:
    right = {"size": 2, "sum": {"sum": 3.0}, "tape": SAME, "fit": SAME}
    if "keras3" in of_rank_1:
        right["keras3"] = SAME
    return [{"rank": 0, **right}, {"rank": 1, **right, **of_rank_1}]


def test_equal_weights_are_right() -> None:
    assert [line.state for line in judge(reports())] == [State.OK, State.OK]
    assert [line.state for line in judge(reports(keras3=SAME))] == [State.OK, State.OK, State.OK]


def test_that_keras_3_is_not_averaged_by_horovods_own_optimizer_is_known() -> None:
    lines = list(judge(reports(keras3=SAME, fit=APART)))
    assert [line.state for line in lines] == [State.OK, State.OK, State.NOTE]
    assert "nothing is averaged" in lines[-1].text
    assert "horovod_keras3.py" in lines[-1].remedy


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"fit": APART}, "nothing is averaged"),
        ({"tape": APART}, "nothing is averaged"),
        ({"keras3": APART}, "nothing is averaged"),
        ({"fit": {"error": "ValueError: no"}}, "ValueError: no"),
        ({"fit": {"spread": float("nan"), "moved": 0.1}}, "not finite"),
        ({"sum": {"sum": 2.0}}, "adding up"),
        ({"sum": {"error": "NotFoundError: op"}}, "NotFoundError: op"),
        ({"size": 1}, "each process trained by itself"),
    ],
)
def test_problems(wrong: dict[str, Any], what: str) -> None:
    found = [line for line in judge(reports(**wrong)) if line.state is State.PROBLEM]
    assert len(found) == 1
    assert what in found[0].text
    assert found[0].remedy


def test_a_step_that_moves_nothing_shows_nothing() -> None:
    still = {"spread": 0.0, "moved": 0.0}
    both = [{**report, "fit": still} for report in reports()]
    assert [line.text for line in judge(both) if line.state is State.PROBLEM] == [
        "a step of fit: no weight changed"
    ]
