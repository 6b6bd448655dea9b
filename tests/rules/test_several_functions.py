"""A name that stands for several functions or objects: each is told the steps."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

GIVEN = """\
class At:
    def __init__(self, at):
        self.at = at
    def __call__(self, n):
        if n == self.at:
            opt.learning_rate.assign(0.01)
def keep(n):
    if n % 50 == 0:
        save(n)
def late(n):
    if n >= 300:
        save(n)
"""
DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9).repeat().batch(4)\n"
LOOP = "for i, (x, y) in enumerate(ds.take(1000)):\n    step(x, y)\n"


@pytest.mark.parametrize(
    "calls",
    [
        "    for hook in [keep, late, At(300)]:\n        hook(i)\n",
        "    for hook in [At(300), keep, late]:\n        hook(i)\n",
        "    for name, hook in [('a', late), ('b', At(9)), ('c', keep)]:\n        hook(i)\n",
    ],
)
def test_each_is_told(calls: str) -> None:
    text = plan_of(TAPE + GIVEN + DATA + LOOP + calls).text
    assert "if n == max(1, self.at // hvd.size()):" in text
    assert "if n % max(1, 50 // hvd.size()) == 0" in text
    assert "if n >= max(1, 300 // hvd.size()):" in text


def test_lambdas_in_a_table() -> None:
    calls = "    for due, act in [(lambda n: n % 50 == 0, save), (lambda n: n == 300, save)]:\n"
    calls += "        if due(i):\n            act(i)\n"
    text = plan_of(TAPE + DATA + LOOP + calls).text
    assert "lambda n: n % max(1, 50 // hvd.size()) == 0, save" in text
    assert "lambda n: n == max(1, 300 // hvd.size()), save" in text
