"""Cursors that go on at the end of the turn's batch, `end = min(start + n, len(x))`, `start = end`: part of G4."""

from __future__ import annotations

import pytest

from .. import dividing
from ..pairs import plan_of
from ..sessions import BUILT, INIT

OPENED = BUILT + "rows = list(range(640))\nsess = tf.Session()\n" + INIT
TAKEN = """\
def taken(n, size):
    got = []
    start = 0
    while start < n:
        {end}
        sess.run(train, {{x: rows[start:end]}})
        start = end
    return got
"""
UNSTEADY = "selects the batches but doesn't advance alike in every turn"


@pytest.mark.parametrize(
    "end", ["end = min(start + size, n)", "end = start + size", "end = np.minimum(size + start, n)"]
)
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_ranks_select_what_one_process_did(rank: int, end: str) -> None:
    plan = plan_of("import numpy as np\n" + OPENED + TAKEN.format(end=end))
    text = plan.text[plan.text.index("def taken") :]
    text = text.replace("sess.run(train, {x: ", "got.append(").replace("})", ")").replace("np.minimum", "min")
    assert "any_rank" not in text
    scope = {"hvd": dividing.Rank(rank, 3), "rows": list(range(100))}
    exec(text, scope)
    batches = [scope["rows"][k : k + 7] for k in range(0, 70, 7)]  # type: ignore[index]
    assert scope["taken"](70, 7) == batches[: len(batches) // 3 * 3][rank::3]  # type: ignore[operator]
    assert scope["taken"](14, 7) == [batches[rank % 2]]  # type: ignore[operator]
    assert scope["taken"](0, 7) == []  # type: ignore[operator]


@pytest.mark.parametrize(
    "turn",
    [
        "end = start + 8\n    sess.run(train, {x: rows[start:end]})\n    end -= 2\n    start = end",
        "end = start + 8\n    start = end\n    sess.run(train, {x: rows[start:end + 8]})",
        "sess.run(train, {x: rows[start:end]})\n    start = end\n    end = start + 8",
        "n = start % 5 + 1\n    end = start + n\n    sess.run(train, {x: rows[start:end]})\n    start = end",
        "end = min(start + 8, limit(start))\n    sess.run(train, {x: rows[start:end]})\n    start = end",
        "if start > 9:\n        end = start + 8\n    sess.run(train, {x: rows[start:end]})\n    start = end",
        # the end says something, too
        "end = min(start + 8, 640)\n    sess.run(train, {x: rows[start:end]})\n    if end == 640:\n        save()\n"
        "    start = end",
    ],
)
def test_a_cursor_that_goes_on_otherwise_is_not_dealt_out(turn: str) -> None:
    plan = plan_of(f"{OPENED}start, end = 0, 8\nwhile start < 640:\n    {turn}\n")
    assert any(UNSTEADY in note.message for note in plan.notes)


def test_a_cursor_that_begins_again() -> None:
    loop = (
        "start = 0\nfor i in range(900):\n    end = start + 8\n    sess.run(train, {x: rows[start:end]})\n    start = end\n"
        "    if start >= 640:\n        start = 0\n"
    )
    text = plan_of(OPENED + loop).text
    assert "    sess.run(train, {x: rows[own_start:end]})\n    start = start + 8\n" in text
    assert "end = own_start + 8" in text
