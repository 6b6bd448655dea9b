"""Loops that go on until something is said."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

LOOP = """\
it = iter(tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9).repeat().batch(4))
done, n, bad = False, 0, 0
while not done:
    loss = step(*next(it))
    n += 1
    if {}:
        done = True
"""


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ("n >= 1000", False),
        ("n == limit", False),
        ("good(loss)", True),
        ("n >= 1000 and good(loss)", True),  # it may go on
        ("n < 1000", True),  # says when it must not
    ],
)
def test_a_number_of_steps_that_is_divided_ends_them(test: str, asked: bool) -> None:
    plan = plan_of(TAPE + "limit = 500\n" + LOOP.format(test))
    assert any("how many steps this loop takes" in c.doubt for c in plan.changes) == asked
