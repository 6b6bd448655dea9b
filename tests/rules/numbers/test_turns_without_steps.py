"""A share of no steps is none: numbers of steps that go by the turn of a loop around."""

from __future__ import annotations

import pytest

from ..pairs import plan_of
from ..sessions import BUILT, INIT

STEP = "    sess.run(train, {x: draw()})\n"


def loop_of(program: str) -> str:
    """The head of the loop that takes the steps."""
    text = plan_of(BUILT + "sess = tf.Session()\n" + INIT + program).text
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if "sess.run(train" in line)
    return lines[at - 1].strip()


@pytest.mark.parametrize(
    "program",
    [
        "def learn(t):\n    n = sum([1 if i % 4 == 0 else 0 for i in range(t, t + 2)])\n    for _ in range(n):\n    "
        + STEP
        + "for t in range(0, 9000, 2):\n    keep(play())\n    learn(t)\n",
        "for t in range(9000):\n    n = t // 40\n    for _ in range(n):\n    " + STEP,
        "for n in range(300):\n    for _ in range(n):\n    " + STEP,
        "class Agent:\n    def learn(self, t):\n        n = int(t % 4 == 0)\n        for _ in range(n):\n        "
        + STEP
        + "agent = Agent()\nfor t in range(9000):\n    agent.learn(t)\n",
    ],
)
def test_none_where_there_was_none(program: str) -> None:
    assert (
        loop_of(program)
        == loop_of(program).split(" in range(")[0] + " in range(n and max(1, n // hvd.size())):"
    )


@pytest.mark.parametrize(
    "program",
    [
        "n = count()\nfor _ in range(n):\n" + STEP,
        # epochs
        "for epoch in range(9):\n    n = len(rows) // 32\n    for _ in range(n):\n    " + STEP,
        "n = len(rows) // 32\nfor epoch in range(9):\n    for _ in range(n):\n    " + STEP,
    ],
)
def test_near_misses(program: str) -> None:
    assert loop_of(program) == "for _ in range(max(1, n // hvd.size())):"
