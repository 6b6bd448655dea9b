"""C6: what somebody types in until it is right: rank 0 alone is asked again, too."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SCRIPT = """\
import numpy as np
import tensorflow as tf
def option(others=()):
{body}
    return answer
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
if option() == "R":
    model.load_weights("a")
model.fit(np.load("x.npy"), np.load("y.npy"), epochs=3)
"""
FIRST = '    answer = input("T or R: ")\n'
ASKED = 'hvd.broadcast_object(input("again: ") if hvd.rank() == 0 else None)'


@pytest.mark.parametrize(
    "again",
    [
        '    while answer not in ("T", "R"):\n        answer = input("again: ")',
        '    if not answer:\n        answer = input("again: ")',
        '    while not (answer.upper() in ["T", "R"]):\n        print("illegal")\n        answer = input("again: ")',
    ],
)
def test_rank_0_alone_is_asked_again(again: str) -> None:
    """The others have no keyboard, and failed after a wrong answer."""
    text = plan_of(SCRIPT.format(body=FIRST + again)).text
    assert f"answer = {ASKED}\n" in text


@pytest.mark.parametrize(
    "again",
    [
        '    if np.random.rand() < 0.5:\n        answer = input("again: ")',
        '    if np.random.rand() < 0.5:\n        return "T"\n    while not answer:\n        answer = input("again: ")',
        '    for _ in range(np.random.randint(3)):\n        if not answer:\n            answer = input("again: ")',
    ],
)
def test_not_where_something_else_decides_whether_it_is_asked(again: str) -> None:
    assert ASKED not in plan_of(SCRIPT.format(body=FIRST + again)).text
