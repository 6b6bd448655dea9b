"""Seeds that make the games of all ranks one and the same."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

GAME = """
for episode in range(1000):
    state = env.reset()
    for t in range(200):
        action = {}
        state, reward, done, _ = env.step(action)
        if done:
            break
        step(state, reward)
"""
SAME = "the games are one and the same"


def _said(before: str, action: str) -> list[str]:
    plan = plan_of(TAPE + before + GAME.format(action))
    return [n.message for n in plan.notes if SAME in n.message]


@pytest.mark.parametrize(
    ("before", "action"),
    [
        ("", "np.random.choice(2)"),
        ("np.random.seed(hvd_number())\n", "np.random.choice(2)"),
        ("np.random.seed()\n", "np.random.choice(2)"),
        ("tf.random.set_seed(1)\n", "np.random.choice(2)"),  # fixes nothing of NumPy
        ("np.random.seed(1)\n", "act(state)"),  # draws nothing
        ("data.seed(1)\n", "act(state)"),
        ("draw = np.random.RandomState()\n", "draw.choice(2)"),
    ],
)
def test_games_that_no_seed_makes_the_same(before: str, action: str) -> None:
    assert _said(before, action) == []


@pytest.mark.parametrize(
    ("before", "action"),
    [
        ("np.random.seed(1)\n", "np.random.choice(2)"),
        ("tf.random.set_seed(1)\n", "tf.random.uniform([])"),
        ("draw = np.random.RandomState(1)\n", "draw.choice(2)"),
        ("env.seed(1)\n", "act(state)"),
        ("env.reset(seed=1)\n", "act(state)"),
    ],
)
def test_games_that_a_seed_makes_the_same_are_said_where_it_stands(before: str, action: str) -> None:
    assert len(_said(before, action)) == 1
