"""G5: tests of what goes with a count of steps, rows or a share of the whole, by whatever name."""

from __future__ import annotations

import pytest

from ..loops.test_own_numbers import FOR, HEAD, lines
from ..pairs import plan_of

DATA = """\
data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(B)
total = 3 * (len(X) // B)
"""
EVENT = "        model.save_weights('w.h5')\n"
CHANGE = "        opt.learning_rate = 0.01\n"


@pytest.mark.parametrize(
    ("made", "test", "becomes"),
    [
        ("", "i * B % 400 == 0", "i * B % (max(1, 400 // 8 // hvd.size()) * 8) == 0"),
        ("", "400 == i * B", "max(1, 400 // 8 // hvd.size()) * 8 == i * B"),
        ("seen = (i + 1) * B", "seen % 400 == 0", "seen % (max(1, 400 // 8 // hvd.size()) * 8) == 0"),
        ("seen = B * i + B", "not seen % 400", "not seen % (max(1, 400 // 8 // hvd.size()) * 8)"),
        ("seen = i * B", "seen % 100 == 0", "seen % (max(1, 25 // hvd.size()) * 8) == 0"),
        ("seen = i * B", "seen == 800", "seen == max(1, 800 // 8 // hvd.size()) * 8"),
        ("seen = i * B", "seen >= 800", "seen >= max(1, 800 // hvd.size())"),
        ("seen, half = i * B, i", "seen % 400 == 0", "seen % (max(1, 400 // 8 // hvd.size()) * 8) == 0"),
    ],
)
def test_rows_come_to_what_they_are_compared_with(made: str, test: str, becomes: str) -> None:
    body = "    train(X[i * B:(i + 1) * B], Y[i * B:(i + 1) * B])\n"
    program = FOR + (f"    {made}\n" if made else "") + body + f"    if {test}:\n" + EVENT
    assert f"if {becomes} and hvd.rank() == 0:" in lines(program)


def test_the_number_of_a_batch_by_its_first_row() -> None:
    loop = "for start in range(0, len(X), B):\n    train(X[start:start + B], Y[start:start + B])\n"
    text = lines(loop + "    if start // B % 50 == 0:\n" + EVENT)
    assert "if start // B % max(1, 50 // hvd.size()) == 0 and hvd.rank() == 0:" in text


def test_the_last_row_of_the_last_batch_stays_the_last() -> None:
    loop = "for start in range(0, len(X), B):\n    end = start + B\n    train(X[start:end], Y[start:end])\n"
    assert "if end == len(X) and hvd.rank() == 0:" in lines(loop + "    if end == len(X):\n" + EVENT)


def test_a_batch_whose_size_isnt_known_is_asked() -> None:
    given = "import sys\nB = int(sys.argv[1])\n"
    body = "    train(X[i * B:(i + 1) * B], Y[i * B:(i + 1) * B])\n    if i * B % 400 == 0:\n"
    made = plan_of(HEAD + given + FOR + body + EVENT)
    assert "i * B % (max(1, 400 // B // hvd.size()) * B) == 0" in made.text
    assert [c.doubt for c in made.changes if not c.sure] == [
        "this is right if `400` is a multiple of `B`, by which `i * B` goes on in each turn"
    ]
    assert all(c.sure for c in plan_of(HEAD + given + FOR + body + "        print(i)\n").changes)


def test_what_is_made_of_its_last_value_comes_as_often_as_alone() -> None:
    body = (
        "    seen = i * B\n    train(X[i * B:(i + 1) * B], Y[i * B:(i + 1) * B])\n    if seen % 400 == 0:\n"
    )
    text = lines("rate = 0.1\n" + FOR + body + "        rate *= 0.9\n        opt.learning_rate = rate\n")
    assert "if seen * hvd.size() % 400 < 8 * hvd.size():" in text


def test_rows_of_all_epochs() -> None:
    body = "        train(X[i * B:(i + 1) * B], Y[i * B:(i + 1) * B])\n        if (epoch * 200 + i) * B % 400 == 0:\n"
    text = "\n".join(lines("for epoch in range(3):\n    " + FOR + body + "    " + EVENT))
    assert "* B % 400 < B * hvd.size() and hvd.rank() == 0:" in text


@pytest.mark.parametrize(
    ("made", "becomes", "test"),
    [
        ("done = step / total", "done = step * hvd.size() / total", "done > 0.5"),
        ("done = 100 * step // total", "done = 100 * (step * hvd.size()) // total", "50 <= done"),
        ("left = total - step", "left = total - step * hvd.size()", "left < 100"),
        ("done = epoch + step / 960", "done = epoch + step * hvd.size() / 960", "done >= 1"),
    ],
)
def test_a_share_of_the_whole_is_of_the_steps_of_all_ranks(made: str, becomes: str, test: str) -> None:
    loop = "step = epoch = 0\nfor x, y in data.repeat(3):\n    train(x, y)\n    step += 1\n"
    text = lines(DATA + loop + f"    {made}\n    if {test}:\n" + CHANGE)
    assert becomes in text
    assert f"if {test}:" in text


def test_what_a_function_computes_of_a_count_too() -> None:
    share = "def share(step):\n    return step / total\n"
    loop = "for step, (x, y) in enumerate(data):\n    train(x, y)\n    if share(step) > 0.5:\n"
    text = lines(DATA + share + loop + CHANGE)
    assert "return step * hvd.size() / total" in text or "if share(step * hvd.size()) > 0.5:" in text


@pytest.mark.parametrize(
    ("made", "test"),
    [
        ("k = step // 100", "k == 2"),
        ("done = step / total", "epoch > 1"),
    ],
)
def test_what_is_a_ranks_own_or_something_else_stays(made: str, test: str) -> None:
    loop = "for epoch in range(2):\n    for step, (x, y) in enumerate(own):\n        train(x, y)\n"
    text = lines(DATA + "own = data\n" + loop + f"        {made}\n        if {test}:\n    " + CHANGE)
    assert not any("step * hvd.size()" in line for line in text)


def test_a_share_that_is_to_equal_something_is_asked() -> None:
    loop = "step = 0\nfor x, y in data:\n    train(x, y)\n    step += 1\n    k = step / 100\n    if k == int(k):\n"
    asked = [c.doubt for c in plan_of(HEAD + DATA + loop + EVENT).changes if not c.sure]
    assert len(asked) == 1
    assert "`step * hvd.size()`" in asked[0]
    assert all(c.sure for c in plan_of(HEAD + DATA + loop + "        print(step)\n").changes)


@pytest.mark.parametrize("kept", ["marks = [500]", "marks = {'next': 500}"])
def test_a_bound_that_an_item_holds_and_that_moves_on_is_asked(kept: str) -> None:
    item = "marks[0]" if "[" in kept else "marks['next']"
    loop = "step = 0\nfor x, y in data:\n    train(x, y)\n    step += 1\n"
    event = f"    if step >= {item}:\n{EVENT}        {item} += 500\n"
    made = plan_of(HEAD + DATA + kept + "\n" + loop + event)
    assert len([c for c in made.changes if not c.sure]) == 1


COUNTED = "import itertools\nlosses = []\nnumbers = itertools.count(1)\nfor x, y in data.repeat(3):\n"


@pytest.mark.parametrize(
    ("body", "test"),
    [
        ("    losses.append(float(train(x, y)))\n", "len(losses)"),
        ("    train(x, y)\n    n = next(numbers)\n", "n"),
    ],
)
def test_what_gets_one_more_with_each_step_counts_them(body: str, test: str) -> None:
    text = lines(DATA + COUNTED + body + f"    if {test} % 100 == 0:\n" + EVENT)
    assert f"if {test} % max(1, 100 // hvd.size()) == 0 and hvd.rank() == 0:" in text


@pytest.mark.parametrize(
    ("body", "test"),
    [
        ("    losses.append(float(train(x, y)))\n    losses.pop(0)\n", "len(losses)"),
        ("    train(x, y)\n    n = next(numbers) + next(numbers)\n", "n"),
        ("    losses.extend([train(x, y), 1])\n", "len(losses)"),
    ],
)
def test_what_gets_more_or_fewer_does_not(body: str, test: str) -> None:
    text = lines(DATA + COUNTED + body + f"    if {test} % 100 == 0:\n" + EVENT)
    assert f"if {test} % 100 == 0 and hvd.rank() == 0:" in text


def test_rows_of_all_ranks_are_divided_by_all_rows() -> None:
    loop = "seen = 0\nfor x, y in data.repeat(3):\n    train(x, y)\n    seen += len(x)\n    if seen / len(X) > 1.5:\n"
    text = lines(DATA + loop + CHANGE)
    assert "seen += len(x) * hvd.size()" in text
    assert any("seen / len(X) > 1.5" in line for line in text)


def test_a_count_in_a_test_is_told_and_not_asked() -> None:
    loop = "step = tf.Variable(0)\nfor x, y in data:\n    train(x, y)\n    step.assign_add(1)\n"
    made = plan_of(HEAD + DATA + loop + "    if int(step) / 960 > 0.5:\n" + CHANGE)
    assert "if int(step) * hvd.size() / 960 > 0.5:" in made.text
    assert all(c.sure for c in made.changes)


@pytest.mark.parametrize(
    ("count", "becomes"),
    [
        ("epoch * n + i + 1", "epoch * n + i * hvd.size() + hvd.size()"),
        ("epoch * n + (i + 1)", "epoch * n + (i * hvd.size() + hvd.size())"),
    ],
)
def test_the_steps_after_this_one_are_those_of_all_ranks(count: str, becomes: str) -> None:
    loop = "n = 320\nfor epoch in range(3):\n    for i, (x, y) in enumerate(data):\n"
    loop += f"        step = {count}\n        train(x, y)\n"
    text = lines(
        DATA + loop + "        if step % 100 == 0:\n    " + EVENT + "        if step == 3 * n:\n    " + EVENT
    )
    assert f"step = {becomes}" in text
    assert "if step % 100 < hvd.size():" in text
    assert any("3 * n <= step < 3 * n + hvd.size()" in line for line in text)


@pytest.mark.parametrize(
    "loop",
    [
        "for n, (x, y) in enumerate(batches(X, Y, size)):\n    train(x, y)\n",
        "for n, k in enumerate(range(0, len(X), size)):\n    train(X[k:k + size], Y[k:k + size])\n",
    ],
)
def test_the_number_of_a_batch_goes_on_by_one(loop: str) -> None:
    """Whatever the batches are made by is given."""
    batches = (
        "def batches(x, y, b):\n    for i in range(0, len(x), b):\n        yield x[i:i + b], y[i:i + b]\n"
    )
    text = lines("import sys\nsize = int(sys.argv[1])\n" + batches + loop + "    if n % 100 == 0:\n" + EVENT)
    assert "if n % max(1, 100 // hvd.size()) == 0 and hvd.rank() == 0:" in text


def test_a_number_that_is_told_may_step_over_another() -> None:
    loop = "step = 0\nfor x, y in data.repeat():\n    train(x, y)\n    step += 1\n    left = 900 - step\n"
    made = plan_of(HEAD + DATA + loop + "    if left <= 0:\n        break\n    if left == 100:\n" + CHANGE)
    assert "left = 900 - step * hvd.size()" in made.text
    assert len([c for c in made.changes if not c.sure]) == 1


def test_a_number_that_falls_with_each_step_falls_as_fast() -> None:
    loop = "heat = 1.0\nfor x, y in data:\n    train(x, y)\n    heat *= 0.995\n"
    text = lines(DATA + loop + "    if heat < 0.1:\n" + CHANGE)
    assert "heat *= 0.995 ** hvd.size()" in text
    assert "heat *= 0.995" in lines(DATA + loop + "    if heat < 0.1:\n        print(heat)\n")


def test_a_place_in_a_cycle_that_is_told_is_not_asked_too() -> None:
    loop = "for it in range(960):\n    i = it % 320\n    if i == 0:\n        order = np.random.permutation(len(X))\n"
    rows = "    rows = order[i * B:(i + 1) * B]\n    train(X[rows], Y[rows])\n"
    made = plan_of(HEAD + loop + rows)
    assert "if i < hvd.size():" in made.text
    assert all(c.sure for c in made.changes)
