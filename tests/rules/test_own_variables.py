"""Which variable is meant where a comprehension, or a loop inside, has one of the same name, and numbers made of a turn's."""

from __future__ import annotations

import pytest

from .pairs import plan_of
from .sessions import BUILT, INIT

HEAD = "import numpy as np\ndata = np.load('rows.npy')\n" + BUILT + "sess = tf.Session()\n" + INIT


def loop(body: str) -> str:
    """What a loop of 100 turns becomes, with its body."""
    text = plan_of(HEAD + "for i in range(100):\n" + body).text
    return text[text.rindex("\nfor i") + 1 :]


CHOSEN = "    chosen = np.random.choice(len(data), 4)\n"
OWN = [
    "[data[i] for i in chosen]",
    "np.array([data[i] for i in chosen])",
    "list(map(lambda i: data[i], chosen))",
]


@pytest.mark.parametrize("rows", OWN)
def test_a_comprehensions_own_variable_selects_nothing_by_the_turn(rows: str) -> None:
    body = f"{CHOSEN}    sess.run(train, {{x: {rows}}})\n    if i % 10 == 0:\n        print(i)\n"
    assert loop(body).startswith("for i in range(100 // hvd.size()):\n")
    assert "i % max(1, 10 // hvd.size()) == 0" in loop(body)


def test_nor_does_that_of_a_loop_inside() -> None:
    body = (
        CHOSEN
        + "    rows = []\n    for i in chosen:\n        rows.append(data[i])\n    sess.run(train, {x: rows})\n"
    )
    assert (
        plan_of(HEAD + "for i in range(100):\n" + body).text.count("for i in range(100 // hvd.size()):") == 1
    )


def test_the_turns_number_is_told_from_it() -> None:
    body = """\
    rows = order[i * 4:(i + 1) * 4]
    sess.run(train, {x: [data[i] for i in rows]})
    if i % 10 == 0:
        sess.run(decay)
"""
    found = loop(body)
    assert found.startswith(
        "for i, own_i in rounds(range(100)):\n    rows = order[own_i * 4:(own_i + 1) * 4]\n"
    )
    assert "[data[i] for i in rows]" in found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "x: [data[j] for j in range(i * 4, i * 4 + 4)]",
            "x: [data[j] for j in range(own_i * 4, own_i * 4 + 4)]",
        ),
        (
            "x: [data[i] for i in range(i * 4, i * 4 + 4)]",
            "x: [data[i] for i in range(own_i * 4, own_i * 4 + 4)]",
        ),
        ("x: data[np.arange(i * 4, i * 4 + 4)]", "x: data[np.arange(own_i * 4, own_i * 4 + 4)]"),
    ],
)
def test_numbers_that_are_made_of_the_turns_number_select(before: str, after: str) -> None:
    found = loop(f"    sess.run(train, {{{before}}})\n    if i % 10 == 0:\n        sess.run(decay)\n")
    assert found.startswith("for i, own_i in rounds(range(100)):\n")
    assert after in found


def test_so_do_those_that_are_named_first_or_gone_through() -> None:
    named = "    chosen = np.arange(i * 4, i * 4 + 4)\n    sess.run(train, {x: data[chosen]})\n"
    assert loop(named).startswith("for i in range(hvd.rank(), 100 // hvd.size() * hvd.size(), hvd.size()):\n")
    rows = "    rows = []\n    for j in range(i * 4, i * 4 + 4):\n        rows.append(data[j])\n"
    gone = rows + "    sess.run(train, {x: rows})\n"
    assert loop(gone).startswith("for i in range(hvd.rank(), 100 // hvd.size() * hvd.size(), hvd.size()):\n")


def test_numbers_of_nothing_that_changes_do_not() -> None:
    body = CHOSEN + "    sess.run(train, {x: [data[chosen[j]] for j in range(4)]})\n"
    assert loop(body).startswith("for i in range(100 // hvd.size()):\n")


def test_a_cursor_goes_on_beside_a_comprehensions_own_variable() -> None:
    body = "    rows = [data[k] for k in range(k, k + 4)]\n    sess.run(train, {x: rows})\n    k += 4\n"
    text = plan_of(HEAD + "k = 0\nwhile k < len(data):\n" + body).text
    assert "rows = [data[k] for k in range(own_k, own_k + 4)]" in text
