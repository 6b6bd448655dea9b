"""G4: arrays that each step of a divided loop fills a place of, and that are read as a whole, are asked about."""

from __future__ import annotations

import pytest

from ..loops.test_own_numbers import HEAD
from ..pairs import plan_of

STEP = "train(X[i * B : (i + 1) * B], Y[i * B : (i + 1) * B])"
LOOP = f"for i in range(200):\n    costs[i] = {STEP}\n"
SESSION = """\
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
data = np.random.RandomState(0).rand(640, 4)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
"""


def asked(program: str) -> list[str]:
    return [q.doubt for q in plan_of(program).to_confirm if "places of its own steps" in q.doubt]


@pytest.mark.parametrize(
    "made", ["np.zeros(200)", "np.empty((200,))", "np.full(200, np.nan)", "[0.0] * 200", "[None] * 200"]
)
@pytest.mark.parametrize("read", ["np.mean(costs)", "sum(costs)", "min(costs)", "costs[:100]", "costs"])
def test_an_array_that_is_read_as_a_whole(made: str, read: str) -> None:
    (doubt,) = asked(f"{HEAD}costs = {made}\n{LOOP}print({read})\n")
    assert "line 16 reads all of `costs`" in doubt


def test_places_by_a_slice_and_in_a_field() -> None:
    rows = (
        "answers = np.zeros(len(X))\nfor i in range(200):\n    answers[i * B : (i + 1) * B] = " + STEP + "\n"
    )
    assert asked(f"{HEAD}{rows}print((answers == Y).mean())\n")
    assert asked(
        HEAD
        + "class Trainer:\n    def __init__(self):\n        self.costs = np.zeros(200)\n    def run(self):\n"
        + f"        for i in range(200):\n            self.costs[i] = {STEP}\n        print(self.costs.mean())\n"
        + "Trainer().run()\n"
    )


def test_of_a_session() -> None:
    loop = (
        "    costs = np.zeros(20)\n    for i in range(20):\n"
        "        _, costs[i] = sess.run([train_op, loss], {x: data[i * 32 : (i + 1) * 32]})\n"
        "    print(costs.mean())\n"
    )
    assert asked(SESSION + loop)


@pytest.mark.parametrize(
    "program",
    [
        f"costs = []\nfor i in range(200):\n    costs.append({STEP})\nprint(np.mean(costs))\n",
        f"costs = {{}}\n{LOOP}print(sum(costs.values()))\n",  # what isn't there isn't counted
        f"costs = np.zeros(200)\n{LOOP}print(len(costs), costs.shape, costs[0])\n",
        # a state of each row, which a turn reads where it writes it
        f"held = np.zeros(200)\nfor i in range(200):\n    old = held[i]\n    held[i] = {STEP} + old\n",
        # by the number of an epoch, of which there are as many
        f"costs = np.zeros(5)\nfor e in range(5):\n    for i in range(200):\n        cost = {STEP}\n"
        "    costs[e] = cost\nprint(costs.mean())\n",
        # filled by a loop that measures
        f"costs = np.zeros(200)\nfor i in range(200):\n    {STEP}\nfor i in range(200):\n    costs[i] = Y[i]\n"
        "print(costs.mean())\n",
        # another array of that name
        f"def other(costs):\n    return costs.mean()\ncosts = np.zeros(200)\n{LOOP}print(other(Y))\n",
    ],
)
def test_what_is_right_as_it_is(program: str) -> None:
    assert not asked(HEAD + program)


def test_loops_that_are_not_divided_fill_all_places() -> None:
    """Near miss: a step on all rows, whose rows are divided."""
    assert not asked(
        f"{HEAD}costs = np.zeros(200)\nfor i in range(200):\n    costs[i] = train(X, Y)\nprint(costs.mean())\n"
    )
