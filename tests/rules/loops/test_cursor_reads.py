"""What a loop reads of a cursor beside selecting by it goes by the rows of all ranks."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = TAPE + "x, y = np.load('x.npy'), np.load('y.npy')\nkept = []\n"
WHILE = "i = 0\nwhile i < 6400:\n    step(x[i : i + 32], y[i : i + 32])\n    i += 32\n    {}\n"
TURNS = "i = 0\nfor k in range(200):\n    step(x[i : i + 32], y[i : i + 32])\n    i += 32\n    {}\n"
SAVES = "if {}:\n        kept.append(1)"
CASES = [
    ("i > 3200", "i * {} > 3200"),
    ("3200 <= i", "3200 <= i * {}"),
    ("i % 320 == 0", "i * {} % 320 < 32 * {}"),
    ("i % 320 != 0", "i * {} % 320 >= 32 * {}"),
    ("not i % 320", "not (i * {} % 320 >= 32 * {})"),
    ("i > 640 and i % 320 == 0", "i * {} > 640 and i * {} % 320 < 32 * {}"),
    ("(i // 32) % 10 == 0", "(i * {} // 32) % 10 < {}"),
    ("i == 3200", "0 <= i * {} - 3200 < 32 * {}"),
    ("i != 3200", "not 0 <= i * {} - 3200 < 32 * {}"),
]


@pytest.mark.parametrize(("test", "after"), CASES)
@pytest.mark.parametrize(("loop", "ranks"), [(WHILE, "ranks"), (TURNS, "hvd.size()")])
def test_tests_go_by_the_rows_of_all_ranks(loop: str, ranks: str, test: str, after: str) -> None:
    plan = plan_of(HEAD + loop.format(SAVES.format(test)))
    assert f"    if {after.replace('{}', ranks)}:\n" in plan.text
    assert plan.sure


@pytest.mark.parametrize("loop", [WHILE, TURNS])
def test_steps_and_multiples_by_name(loop: str) -> None:
    text = plan_of(
        HEAD + "b = 32\n" + loop.replace("32", "b", 5).format(SAVES.format("i % (10 * b) == 0"))
    ).text
    assert "% (10 * b) < b * " in text


def test_what_is_computed_by_it() -> None:
    text = plan_of(HEAD + TURNS.format("opt.learning_rate.assign(0.1 * (1 - i / 6400))")).text
    assert "(1 - i * hvd.size() / 6400)" in text
    text = plan_of(HEAD + TURNS.format("opt.learning_rate.assign(1 / i)")).text
    assert "(1 / (i * hvd.size())" in text


def test_names_made_of_it_that_select_as_well_are_asked_about() -> None:
    loop = TURNS.replace(
        "    step(x[i : i + 32], y[i : i + 32])", "    seen = i + 32\n    step(x[i:seen], y[i:seen])"
    )
    asked = plan_of(HEAD + loop.format(SAVES.format("seen % 320 == 0"))).to_confirm
    assert any("let it read `seen * hvd.size()`" in c.doubt for c in asked)


def test_what_it_is_taken_with_is_divided_once() -> None:
    turns = TURNS.replace("200", "len(x) // 32").format("opt.learning_rate.assign(0.1 * (1 - i / len(x)))")
    assert "(1 - i * ranks / len(x))" in plan_of(HEAD + turns).text
    text = plan_of(HEAD + WHILE.format("opt.learning_rate.assign(0.1 * (1 - i / 6400))")).text
    assert "(1 - i / max(1, 6400 // hvd.size()))" in text


@pytest.mark.parametrize(
    "then",
    [
        "print(i)",
        SAVES.format("len(x) > 640"),
        "if i + 32 > len(x):\n        break",
    ],
)
def test_what_says_nothing_of_the_rows_of_all_stays(then: str) -> None:
    plan = plan_of(HEAD + WHILE.format(then))
    assert "i * ranks %" not in plan.text
    assert then.split("\n", maxsplit=1)[0] in plan.text
    assert plan.sure


@pytest.mark.parametrize(
    ("loop", "test"),
    [
        (WHILE, "i % 50 == 0"),  # does it come to it?
        (WHILE, "i == 6400"),  # ranks may stay short of the end
        (WHILE, "i % 320 == 32"),
        (WHILE.replace("i = 0", "i = 64"), "i % 320 == 0"),
        (TURNS, "str(i).endswith('0')"),
    ],
)
def test_other_tests_are_asked_about(loop: str, test: str) -> None:
    asked = plan_of(HEAD + loop.format(SAVES.format(test))).to_confirm
    assert any("move `i` on size() times more slowly" in c.doubt for c in asked)


def test_one_that_counts_the_turns_is_divided_as_a_count() -> None:
    loop = WHILE.replace(
        "x[i : i + 32], y[i : i + 32]", "x[i * 8 : i * 8 + 8], y[i * 8 : i * 8 + 8]"
    ).replace("+= 32", "+= 1")
    text = plan_of(HEAD + loop.format(SAVES.format("i % 320 == 0"))).text
    assert "i % max(1, 320 // hvd.size()) == 0" in text


def test_one_that_is_moved_by_an_assignment_is_not_read_there() -> None:
    text = plan_of(HEAD + WHILE.replace("i += 32", "i = i + 32").format("pass")).text
    assert "    i = i + 32\n" in text


CHOSEN = (
    "i = 0\nfor k in range(200):\n    if i + 32 < len(x):\n        {}\n    else:\n        {}\n"
    "    step(a, b)\n    i += 32\n"
)


def test_which_rows_a_rank_selects_goes_by_its_own_cursor() -> None:
    plan = plan_of(HEAD + CHOSEN.format("a, b = x[i : i + 32], y[i : i + 32]", "a, b = x[i:], y[i:]"))
    assert (
        "    if own_i + 32 < len(x):\n        a, b = x[own_i : own_i + 32], y[own_i : own_i + 32]\n"
        in plan.text
    )
    assert plan.sure


def test_what_happens_beside_the_selection_goes_by_all_rows() -> None:
    plan = plan_of(
        HEAD
        + CHOSEN.format("a, b = x[i : i + 32], y[i : i + 32]\n        kept.append(1)", "a, b = x[i:], y[i:]")
    )
    assert "own_i + 32 < len(x)" not in plan.text
    assert any("move `i` on size() times more slowly" in c.doubt for c in plan.to_confirm)


@pytest.mark.parametrize("loop", [WHILE, TURNS])
def test_where_something_is_put_goes_with_its_rows(loop: str) -> None:
    text = plan_of(
        HEAD + loop.replace("    i +=", "    out[i : i + 32] = model(x[i : i + 32])\n    i +=").format("pass")
    ).text
    assert "    out[own_i : own_i + 32] = model(x[own_i : own_i + 32])\n" in text
    text = plan_of(
        HEAD + loop.replace("    i +=", "    losses[i // 32] = float(loss)\n    i +=").format("pass")
    ).text
    assert "    losses[i // 32] = float(loss)\n" in text


def test_a_number_that_says_where_a_rows_result_goes_is_no_result() -> None:
    """It was taken for one, so that all ranks had to agree on the end of the loop in each turn."""
    text = plan_of(
        HEAD
        + WHILE.replace("    i +=", "    out[i : i + 32] = model(x[i : i + 32])\n    i +=").format("pass")
    ).text
    assert "any_rank" not in text


ENDS = "i, n, seen = 0, len(x), 0\nwhile i < n:\n    end = {}\n    step(x[i:end], y[i:end])\n    {}\n    i += 32\n"


@pytest.mark.parametrize(
    ("end", "counted", "rows"),
    [
        ("min(i + 32, n)", "seen += end - i", "seen += min(32 * ranks, n - i * ranks)"),
        ("i + 32", "seen += end - i", "seen += 32 * ranks"),
        (
            "min(i + 32, n)",
            "kept.append((end - i) / 32)",
            "kept.append((min(32 * ranks, n - i * ranks)) / 32)",
        ),
    ],
)
def test_the_rows_of_a_batch_are_counted_for_all_ranks(end: str, counted: str, rows: str) -> None:
    """`end - i` became `end - i * ranks`, which falls below zero."""
    assert f"    {rows}\n" in plan_of(HEAD + ENDS.format(end, counted)).text


def test_the_rows_of_a_batch_decide_nothing_by_a_rank_alone() -> None:
    text = plan_of(HEAD + ENDS.format("min(i + 32, n)", "if end - i < 32:\n        break")).text
    assert "if end - i < 32:" in text
