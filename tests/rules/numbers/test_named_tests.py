"""G5, C5: tests that stand under a name or in a function of one answer hold as if they stood where they are read."""

from __future__ import annotations

import pytest

from ..loops.test_own_numbers import HEAD
from ..pairs import plan_of

LOOP = """\
{0}data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(B)
step, running = 0, 0.0
for epoch in range(3):
    for x, y in data:
        loss = train(x, y)
        step += 1
        running += loss
{1}"""


def text_of(before: str, after: str) -> str:
    plan = plan_of(HEAD + LOOP.format(before, "".join(f"        {line}\n" for line in after.splitlines())))
    assert all(change.sure for change in plan.changes)
    return plan.text


LATE = {
    "a name": ("", "late = step > 50\nif late:\n"),
    "a name of two": ("", "late = step > 50 and step < 400\nif late:\n"),
    "a name that is denied": ("", "early = step <= 50\nif not early:\n"),
    "a function": ("def is_late(n):\n    return n > 50\n", "if is_late(step):\n"),
    "a function without a name": ("is_late = lambda n: n > 50\n", "if is_late(step):\n"),
}


@pytest.mark.parametrize(("before", "after"), LATE.values(), ids=LATE)
def test_a_rate_falls_as_fast_after_it(before: str, after: str) -> None:
    text = text_of(before, after + "    opt.learning_rate = opt.learning_rate * 0.99\n")
    assert "opt.learning_rate * 0.99 ** hvd.size()\n" in text
    assert "50 // hvd.size()" in text


@pytest.mark.parametrize(
    "test", ["due = step % 50 == 0\nif due:\n", "due = not step % 50\nif due and epoch:\n"]
)
def test_a_rate_that_falls_now_and_then_falls_by_as_much(test: str) -> None:
    text = text_of("", test + "    opt.learning_rate = opt.learning_rate * 0.99\n")
    assert "opt.learning_rate * 0.99\n" in text
    assert "step * hvd.size() % 50" in text


DUE = {
    "a name": ("", "due = step % 16 == 0\nif due:\n"),
    "a function": ("def is_due(n):\n    return n % 16 == 0\n", "if is_due(step):\n"),
}


@pytest.mark.parametrize(("before", "after"), DUE.values(), ids=DUE)
def test_a_sum_is_divided_by_the_steps_of_its_event(before: str, after: str) -> None:
    text = text_of(before, after + "    print(running / 16)\n    running = 0.0\n")
    assert "print(running / max(1, 16 // hvd.size()))" in text
