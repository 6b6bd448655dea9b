"""Cursors that begin again within their loop, part of G4 and S5: `if i + 64 > len(rows): i = 0`."""

from __future__ import annotations

import textwrap
from types import SimpleNamespace

import pytest

from ..pairs import plan_of
from ..sessions import BUILT, INIT

HEAD = (
    BUILT
    + "import numpy as np\nrows, n = np.load('x.npy'), 6000\nsaver = tf.train.Saver()\nsess = tf.Session()\n"
    + INIT
)


def plan_text(body: str) -> str:
    """A distributed loop, as text."""
    return plan_of(HEAD + textwrap.dedent(body).lstrip("\n")).text


def notes_of(body: str) -> str:
    return " ".join(n.message for n in plan_of(HEAD + textwrap.dedent(body).lstrip("\n")).notes)


BEFORE = """\
i = 0
for step in range(500):
    if {test}:
        i = 0
        rows = rows[np.random.permutation(len(rows))]
    sess.run(train, {{x: rows[i:i + 64]}})
    i += 64
    if step % 100 == 0:
        saver.save(sess, "m")
"""
AFTER = """\
i = 0
for step in range(500):
    sess.run(train, {{x: rows[i:i + 64]}})
    i += 64
    if {test}:
        i = 0
"""


@pytest.mark.parametrize("form", [BEFORE, AFTER])
@pytest.mark.parametrize(
    ("test", "together", "first"),
    [
        ("i + 64 > n", "i * ranks + (ranks - 1) * 64 + 64 > n", "(r - 1) * 64 + 64 > n"),
        ("i >= len(rows)", "i * ranks + (ranks - 1) * 64 >= len(rows)", "(r - 1) * 64 >= len(rows)"),
        ("n <= i", "n <= i * ranks + (ranks - 1) * 64", "n <= (r - 1) * 64"),
        ("i == n", "i * ranks + (ranks - 1) * 64 >= n", "(r - 1) * 64 >= n"),
        ("n == i", "n <= i * ranks + (ranks - 1) * 64", "n <= (r - 1) * 64"),
        ("n - i < 64", "n - (i * ranks + (ranks - 1) * 64) < 64", "n - ((r - 1) * 64) < 64"),
        ("i > n - 64", "i * ranks + (ranks - 1) * 64 > n - 64", "(r - 1) * 64 > n - 64"),
    ],
)
def test_all_ranks_begin_again_when_the_last_has_no_batch_left(
    form: str, test: str, together: str, first: str
) -> None:
    text = plan_text(form.format(test=test))
    assert f"ranks = max(r for r in range(1, hvd.size() + 1) if r == 1 or not {first})\n" in text
    assert f"    if {together}:\n        i = 0\n" in text
    assert "    own_i = i * ranks + (hvd.rank() % ranks) * 64\n" in text
    assert "rows[own_i:own_i + 64]" in text
    assert "for step in range(500 // hvd.size()):" in text
    assert "    i += 64\n" in text


def test_a_rank_goes_by_its_own_once_the_cursor_has_begun_again() -> None:
    text = plan_text(BEFORE.format(test="i + 64 > n"))
    assert text.index("        i = 0\n") < text.index("    own_i = ") < text.index("rows[own_i")
    assert "rows = rows[from_root(np.random.permutation(len(rows)))]" in text
    assert "if step % max(1, 100 // hvd.size()) == 0" in text


def test_a_number_of_batches_begins_again_too() -> None:
    text = plan_text(
        """
        k = 0
        for step in range(500):
            sess.run(train, {x: rows[k * 64:(k + 1) * 64]})
            k += 1
            if k == 900:
                k = 0
            if k == 0:
                print("again")
        """
    )
    assert "own_k = k * hvd.size() + hvd.rank()\n" in text  # 900 batches are many more than ranks
    assert "    if k * hvd.size() + hvd.size() - 1 >= 900:\n" in text
    assert "    if k == 0" in text


JOINED = """\
i = 0
for step in range(500):
    sess.run(train, {{x: rows[i:i + 64]}})
    if {test}:
        {body}
    else:
        {other}
"""


@pytest.mark.parametrize(
    ("test", "together", "first"),
    [
        ("i + 128 > n", "i * ranks + 2 * (ranks - 1) * 64 + 128 > n", "not (r - 2) * 64 + 128 > n"),
        ("n == i + 64", "n <= i * ranks + 2 * (ranks - 1) * 64 + 64", "not n <= (r - 2) * 64 + 64"),
        ("i + 128 <= n", "i * ranks + 2 * (ranks - 1) * 64 + 128 <= n", "(r - 2) * 64 + 128 <= n"),
        ("n > i + 64", "n > i * ranks + 2 * (ranks - 1) * 64 + 64", "n > (r - 2) * 64 + 64"),
    ],
)
def test_a_cursor_that_moves_on_or_begins_again(test: str, together: str, first: str) -> None:
    arms = ("i = 0", "i += 64") if "not" in first else ("i += 64", "i = 0")
    text = plan_text(JOINED.format(test=test, body=arms[0], other=arms[1]))
    assert f"ranks = max(r for r in range(1, hvd.size() + 1) if r == 1 or {first})\n" in text
    assert f"    if {together}:\n        {arms[0]}\n    else:\n        {arms[1]}\n" in text
    assert "    own_i = i * ranks + (hvd.rank() % ranks) * 64\n" in text


@pytest.mark.parametrize("total", [1, 3, 4, 5, 8, 11, 16, 17, 23, 39])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "end",
    [
        "i += 4\n    if i >= n:\n        i = 0\n",
        "i += 4\n    if i + 4 > n:\n        i = 0\n",
        "if i + 8 > n:\n        i = 0\n    else:\n        i += 4\n",
        "if i + 4 < n:\n        i += 4\n    else:\n        i = 0\n",
    ],
)
def test_the_ranks_go_through_the_batches_that_one_process_goes_through(
    total: int, size: int, end: str
) -> None:
    """Each cycle of all ranks takes the first batches of one process's, in their order, and as many as can be dealt out."""
    loop = f"i = 0\nfor step in range(500):\n    sess.run(train, {{x: rows[i:i + 4]}})\n    {end}"
    text = plan_of(HEAD.replace("6000", "count()") + loop).text
    lines = text[text.index("i = 0\n") :].replace("sess.run(train, {x: ", "seen.append(").replace("]})", "])")
    lines = lines.replace("range(500 // hvd.size())", "range(12)")
    alone = _cycle([_run(loop.replace("sess.run(train, {x: ", "seen.append(").replace("]})", "])"), total)])
    ranks = [_run(lines, total, rank, size) for rank in range(size)]
    cycle = max(1, len(alone) // size)
    dealt = [turn[k] for k in range(cycle) for turn in ranks]
    expected = alone[: cycle * size] if len(alone) >= size else [alone[r % len(alone)] for r in range(size)]
    assert dealt == expected
    assert all(turns[cycle:] == turns[:-cycle] for turns in ranks)  # and the same again


def _run(code: str, total: int, rank: int = 0, size: int = 1) -> list[list[int]]:
    seen: list[list[int]] = []
    hvd = SimpleNamespace(rank=lambda: rank, size=lambda: size)
    exec(code, {"seen": seen, "n": total, "rows": list(range(total)), "hvd": hvd})
    return seen


def _cycle(runs: list[list[list[int]]]) -> list[list[int]]:
    seen = runs[0]
    return seen[: next((k for k in range(1, len(seen)) if seen[k] == seen[0]), len(seen))]


WHILE = """\
i = epoch = 0
while {test}:
    sess.run(train, {{x: rows[i:i + 64]}})
    i += 64
    if i >= n:
        i = 0
        epoch += 1
    {end}
"""


@pytest.mark.parametrize(
    ("test", "end"), [("epoch < 10", "pass"), ("True", "if epoch == 10:\n        break")]
)
def test_a_loop_that_ends_by_how_often_it_began_again_ends_as_early_by_itself(test: str, end: str) -> None:
    text = plan_text(WHILE.format(test=test, end=end))
    assert f"while {test}:\n    own_i = i * ranks + " in text
    assert "0.1 * hvd.size()" in text
    assert end in text


def test_a_loop_that_ends_by_its_steps_is_divided_beside() -> None:
    text = plan_text("step = 0\n" + WHILE.format(test="step < 500", end="step += 1"))
    assert "while step < 500 // hvd.size():\n" in text
    assert "rows[own_i:own_i + 64]" in text


SUMMED = """\
i, total = 0, 0.0
for step in range(500):
    total += sess.run([train, loss], {{x: rows[i:i + 64]}})[1]
    i += 64
    if {test}:
        {there}
        i, total = 0, 0.0
"""


@pytest.mark.parametrize("test", ["i + 64 > len(rows)", "len(rows) - i < 64", "i > len(rows) - 64"])
def test_the_mean_of_a_cycle_is_that_of_a_rank(test: str) -> None:
    there = "print(total / (len(rows) // 64))\n        i = 0"
    body = SUMMED.format(test=test, there=there).replace("i, total = 0, 0.0\n", "total = 0.0\n")
    text = plan_text("i = 0\n" + body)
    assert "print(total / (max(1, len(rows) // 64 // hvd.size())))" in text


def test_what_is_added_up_where_a_cursor_begins_again_is_no_sum_of_its_steps() -> None:
    there = (
        "right = 0\n        for row in rows:\n            right += ask(row)\n        print(right / len(rows))"
    )
    body = SUMMED.format(test="i >= len(rows)", there=there).replace("i, total = 0, 0.0\n", "i = 0\n")
    assert "print(right / len(rows))" in plan_text("total = 0\n" + body)


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # a number of another batch, of the same turn, decides
        ("if n > 64:\n        i = 0", ""),
        ("if step % 50 == 0:\n        i = 0", ""),
        # begins again elsewhere
        ("", "if i >= n:\n        i = 32"),
        ("", "if i >= n:\n        i = i - n"),
        # between the selection and what moves it on
        ("batch = rows[i:i + 64]\n    if i > n:\n        i = 0", ""),
        # at two places
        ("if i + 64 > n:\n        i = 0", "if i > 6400:\n        i = 0"),
        # it is told of the cursor there, or the turn is left
        ("", "if i >= n:\n        print(i)\n        i = 0"),
        ("if i + 64 > n:\n        i = 0\n        continue", ""),
        ("", "if i >= n:\n        i = 0\n        break"),
        # the test doesn't hold from some number on
        ("", "if i % 6400 == 0:\n        i = 0"),
        ("", "if i != n:\n        i = 0"),
        ("", "if i >= n or stop():\n        i = 0"),
        # a number that each turn sets
        ("m = count()\n    if i + 64 > m:\n        i = 0", ""),
        # another branch
        ("if i + 128 > n:\n        i = 0\n    else:\n        i = i", ""),
        ("", "if i >= n:\n        i = 0\n    else:\n        print('on')"),
    ],
)
def test_a_cursor_that_begins_again_otherwise_is_not_dealt_out(before: str, after: str) -> None:
    body = (
        f"i = 0\nfor step in range(500):\n    {before or 'pass'}\n"
        f"    sess.run(train, {{x: rows[i:i + 64]}})\n    i += 64\n    {after or 'pass'}\n"
    )
    plan = plan_of(HEAD + body)
    assert "doesn't advance alike in every turn" in notes_of(body)
    assert "own_i" not in plan.text
    assert "hvd.size()" not in plan.text


def test_a_loop_that_ends_by_steps_and_by_how_often_it_began_again_is_left() -> None:
    body = WHILE.format(test="going_on()", end="if epoch == 10:\n        break")
    assert "can't be seen how many steps" in notes_of(body)
    assert "own_i" not in plan_text(body)


def test_a_loop_that_ends_by_a_cursor_that_begins_again_is_left() -> None:
    body = "i = 0\nwhile i < n:\n    sess.run(train, {x: rows[i:i + 64]})\n    i += 64\n    if i > 640:\n        i = 0\n"
    assert "can't be seen how many steps" in notes_of(body)
    assert "own_i" not in plan_text(body)


def test_a_cursor_that_goes_round_by_a_remainder_is_not_asked_about() -> None:
    body = "i = 0\nfor step in range(500):\n    sess.run(train, {x: rows[i:i + 64]})\n    i = (i + 64) % n\n"
    plan = plan_of(HEAD + body)
    assert "own_i = (i * hvd.size() + hvd.rank() * 64) % n\n" in plan.text
    assert not plan.to_confirm
