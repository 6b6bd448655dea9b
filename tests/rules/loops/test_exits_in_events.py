"""G4: a loop without an end of its own that is left in an event, by the count that both go by."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import changes, plan_of

LOOP = """\
a, n, every = np.zeros((900, 3)), 1999, 50
count = 0
while True:
    rows = a[np.random.randint(0, 900, 16)]
    loss = step(rows, rows)
    count += 1
    if {event}:
        save(count)
        if {end}:
            break
"""


def text_of(event: str, end: str) -> str:
    return plan_of(TAPE + "from mine import save\n" + LOOP.format(event=event, end=end)).text


@pytest.mark.parametrize(
    ("event", "end", "event_after", "end_after"),
    [
        ("count % 50 == 0", "count >= 2000", "count % max(1, 50 // hvd.size()) == 0", "count >= 40 * max(1, 50 // hvd.size())"),
        ("count % every == 0", "count >= n", "count % max(1, every // hvd.size()) == 0", "count >= max(1, n // hvd.size())"),
    ],
)  # fmt: skip
def test_both_numbers_are_divided(event: str, end: str, event_after: str, end_after: str) -> None:
    text = text_of(event, end)
    assert f"    if {event_after}:\n" in text
    assert f"        if {end_after}:\n" in text
    assert "SGD(0.1 * hvd.size())" in text


@pytest.mark.parametrize(
    ("event", "end"),
    [
        ("count % 50 == 0", "loss < 0.1"),  # by what is measured
        ("count % 50 == 0", "epoch >= 30"),  # by another number
        ("loss < 0.5", "count >= 2000"),  # not in an event that comes with the count
    ],
)
def test_other_ends_are_not_seen_to_count(event: str, end: str) -> None:
    plan = plan_of("epoch = 3\n" + TAPE + "from mine import save\n" + LOOP.format(event=event, end=end))
    assert "SGD(0.1)" in plan.text
    assert not changes(plan, "C5")
