"""G5: numbers that go down with each step."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9).repeat().batch(4)\n"
LOOP = "for x, y in ds.take(1000):\n    step(x, y)\n"
DOWN = "    left -= 1\n    if left == 0:\n        keep(model)\n        left = 50\n"
TICK = """\
class Tick:
    def __init__(self, n):
        {}
    def __call__(self):
        self.left -= 1
        if self.left <= 0:
            self.left = self.n
            return True
        return False
tick = Tick(50)
"""


def test_what_it_begins_with_is_divided() -> None:
    plan = plan_of(TAPE + DATA + "left = 50\n" + LOOP + DOWN)
    assert (
        "left = max(1, 50 // hvd.size())\nhvd" in plan.text
        or "left = max(1, 50 // hvd.size())\n" in plan.text
    )
    assert plan.text.count("left = max(1, 50 // hvd.size())\n") == 2
    assert all(c.sure for c in plan.changes)


def test_a_loop_that_goes_on_until_then_takes_its_share() -> None:
    loop = "left = 1000\nit = iter(ds)\nwhile left > 0:\n    step(*next(it))\n    left -= 1\n"
    plan = plan_of(TAPE + DATA + loop)
    assert "left = max(1, 1000 // hvd.size())\n" in plan.text
    assert all(c.sure for c in plan.changes)


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        (TICK.format("self.n = self.left = n") + LOOP + "    if tick():\n        keep(model)\n", True),
        ("left = 50\n" + LOOP + DOWN.replace("== 0", "% 5 == 0"), False),  # no number that ends
        ("left = 50\n" + LOOP + DOWN + "    show(left)\n", True),
    ],
)
def test_where_that_cannot_be_written_it_is_asked(source: str, asked: bool) -> None:
    plan = plan_of(TAPE + DATA + source)
    assert any("goes down with each step" in c.doubt for c in plan.changes) == asked


@pytest.mark.parametrize(
    "source",
    [
        # of epochs, of evaluations, of what goes on within a step; no test of it
        "left = 3\nfor e in range(9):\n    for x, y in ds.take(100):\n        step(x, y)\n    left -= 1\n"
        "    if left == 0:\n        break\n",
        "left = 3\nfor i, (x, y) in enumerate(ds.take(1000)):\n    step(x, y)\n    if i % 100 == 0:\n"
        "        left -= 1\n    if left == 0:\n        keep(model)\n",
        "left = 50\n" + LOOP + "    left = 3\n    while left > 0:\n        left -= 1\n",
        "left = 50\n" + LOOP + "    left -= 1\n",
    ],
)
def test_near_misses(source: str) -> None:
    plan = plan_of(TAPE + DATA + source)
    assert "left = 3\n" in plan.text or "left = 50\n" in plan.text
    assert not any("goes down with each step" in c.doubt for c in plan.changes)
