"""Seeds that make the games of all ranks one and the same."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import doubts, plan_of

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


SESSION_GAME = """\
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 2])
goal = tf.placeholder(tf.float32, [None, 2])
q = tf.layers.dense(x, 2)
train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.square(q - goal)))
class Memory:
    def __init__(self):
        self.rows = []
    def {store}(self, row):
        self.rows.append(row)
    def draw(self):
        return np.array([self.rows[i] for i in np.random.randint(0, len(self.rows), 8)])
memory = Memory()
rows = np.load("x.npy")
sess = tf.Session()
sess.run(tf.global_variables_initializer())
{loop}
"""
PLAYED = """\
state = np.zeros(2)
for t in range(1000):
    action = sess.run(q, {x: state[None]})[0].argmax()
    following = move(state, action)
    memory.STORE(np.hstack([state, following]))
    state = following
    drawn = memory.draw()
    sess.run(train, {x: drawn[:, :2], goal: drawn[:, 2:]})
"""
SAMPLED = """\
for t in range(1000):
    part = rows[t * 8:t * 8 + 8]
    sess.run(train, {x: part[:, :2], goal: part[:, 2:]})
    if t % 100 == 0:
        state, path = np.zeros(2), []
        for _ in range(9):
            state = sess.run(q, {x: state[None]})[0]
            path.append(state)
        print(path)
"""


@pytest.mark.parametrize("store", ["store", "store_transition", "append", "add_experience"])
def test_a_game_that_moves_by_what_a_session_says_is_each_ranks_own(store: str) -> None:
    plan = plan_of(SESSION_GAME.format(store=store, loop=PLAYED.replace("STORE", store)))
    assert any("plays as many games" in d for d in doubts(plan, "S5"))
    assert "hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1))" in plan.text
    assert "for t in range(1000):" in plan.text


def test_what_a_model_goes_on_with_by_itself_to_show_it_is_no_game() -> None:
    plan = plan_of(SESSION_GAME.format(store="store", loop=SAMPLED))
    assert not any("plays as many games" in d for d in doubts(plan, "S5"))
    assert "AdamOptimizer(0.1 * hvd.size())" in plan.text


def test_a_chain_that_goes_on_beside_batches_is_no_game() -> None:
    loop = (
        "state = np.zeros((8, 2))\nfor t in range(1000):\n    part = rows[t * 8:t * 8 + 8]\n"
        "    sess.run(train, {x: part[:, :2], goal: state})\n    state = sess.run(q, {x: state})\n"
    )
    plan = plan_of(SESSION_GAME.format(store="store", loop=loop))
    assert not any("plays as many games" in d for d in doubts(plan, "S5"))
