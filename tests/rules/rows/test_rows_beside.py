"""D1, G4 and D3: what a step gets beside the rows that its loop goes through, and each rank must take its own of as well."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

DATA = """\
a, b = np.load("a.npy"), np.load("b.npy")
first = tf.data.Dataset.from_tensor_slices(a).batch(8)
second = tf.data.Dataset.from_tensor_slices(b).batch(8)
class Reader:
    def __init__(self, rows):
        self.rows, self.at = rows, 0
    def next_batch(self, n):
        self.at += n
        return self.rows[self.at - n:self.at]
    def __bool__(self):
        return self.at < len(self.rows)
reader = Reader(b)
"""
OVER_DATA = "for epoch in range(5):\n    for i, x in enumerate(first):\n"
OVER_ROWS = "for epoch in range(5):\n    for i in range(len(a) // 8):\n        x = a[i * 8:(i + 1) * 8]\n"
SHARED = "second = shard_dataset(tf.data.Dataset.from_tensor_slices(b)).batch(8)"


def inside(text: str) -> str:
    return "".join(f"        {line}\n" for line in text.splitlines())


def text_of(before: str, loop: str, body: str) -> str:
    return plan_of(TAPE + DATA + before + loop + inside(body)).text


def questions(before: str, loop: str, body: str) -> list[str]:
    plan = plan_of(TAPE + DATA + before + loop + inside(body))
    return [change.doubt for change in plan.to_confirm]


@pytest.mark.parametrize("loop", [OVER_DATA, OVER_ROWS])
@pytest.mark.parametrize(
    ("before", "drawn"),
    [
        ("it = iter(second)\n", "y = next(it)"),
        ("", "it = iter(second) if i % 20 == 0 else it\ny = next(it)"),
        (
            "it = iter(second)\n",
            "try:\n    y = next(it)\nexcept StopIteration:\n    it = iter(second)\n    y = next(it)",
        ),
        ("it = iter(second)\n", "y = it.get_next()"),
    ],
)
def test_a_data_set_beside_the_one_of_the_loop_is_divided(loop: str, before: str, drawn: str) -> None:
    assert SHARED in text_of(before, loop, f"{drawn}\nstep(x, y)\n")


def test_one_to_measure_by_stays_whole() -> None:
    text = text_of(
        "it = iter(second)\n", OVER_DATA, "step(x, x)\nif i % 10 == 0:\n    print(model(next(it)))\n"
    )
    assert "\nsecond = tf.data.Dataset.from_tensor_slices(b).batch(8)\n" in text


@pytest.mark.parametrize("loop", [OVER_DATA, OVER_ROWS])
def test_batches_that_are_dealt_out_beside_a_loops_rows_are_dealt_to_ranks(loop: str) -> None:
    text = text_of("", loop, "step(x, reader.next_batch(8))\n")
    assert "step(x, [reader.next_batch(8) for _ in range(hvd.size())][hvd.rank()])" in text


def test_of_batches_to_measure_by_all_ranks_take_the_same() -> None:
    text = text_of("", OVER_DATA, "step(x, x)\nprint(model(reader.next_batch(8)))\n")
    assert "hvd.rank()]" not in text


def test_what_is_made_of_the_loops_own_rows_is_not_dealt_again() -> None:
    function = "def get_batch(rows):\n    return rows[:4]\n"
    assert "for _ in range(hvd.size())" not in text_of(function, OVER_DATA, "step(x, get_batch(x))\n")


@pytest.mark.parametrize("rows", ["b[k * 8:(k + 1) * 8]", "b[k * 8 % len(b):][:8]"])
def test_a_number_of_the_programs_own_selects_a_ranks_own_rows(rows: str) -> None:
    text = text_of("k = 0\n", OVER_DATA, f"step(x, {rows})\nk += 1\n")
    assert "own_k = k * hvd.size() + hvd.rank()" in text
    assert f"step(x, {rows.replace('k', 'own_k')})" in text


def test_one_that_goes_round_is_a_ranks_own() -> None:
    text = text_of("k = 0\n", OVER_DATA, "step(x, b[k * 8:(k + 1) * 8])\nk = (k + 1) % 20\n")
    assert "own_k = (k * hvd.size() + hvd.rank()) % 20\n" in text
    assert "step(x, b[own_k * 8:(own_k + 1) * 8])\n" in text


def test_one_that_is_drawn_by_the_last_is_asked_about() -> None:
    body = "step(x, b[k * 8:(k + 1) * 8])\nk = (k * 7 + 1) % 20\n"
    assert any(
        "`k` selects rows beside those of the loop" in q for q in questions("k = 0\n", OVER_DATA, body)
    )


def test_one_that_selects_what_is_printed_stays() -> None:
    text = text_of("k = 0\nnames = list('abc') * 99\n", OVER_DATA, "step(x, x)\nprint(names[k])\nk += 1\n")
    assert "print(names[k])" in text


@pytest.mark.parametrize(
    ("before", "drawn", "asked"),
    [
        ("rng = np.random.RandomState(3)\n", "rng.randint(0, len(b), 8)", True),
        ("np.random.seed(3)\n", "np.random.choice(len(b), 8)", True),
        ("", "np.random.choice(len(b), 8)", False),
        ("rng = np.random.RandomState()\n", "rng.randint(0, len(b), 8)", False),
    ],
)
def test_rows_that_a_seed_draws_beside_a_loops_own_are_asked_about(
    before: str, drawn: str, asked: bool
) -> None:
    found = questions(before, OVER_DATA, f"step(x, b[{drawn}])\n")
    assert any("with this seed every rank draws the same batches" in q for q in found) is asked


def test_an_order_that_a_seed_draws_before_the_loop_is_not_asked_about() -> None:
    loop = "for epoch in range(5):\n    order = np.random.permutation(len(a))\n    for i in range(len(a) // 8):\n"
    assert not questions("np.random.seed(3)\n", loop, "step(a[order[i * 8:(i + 1) * 8]], 0)\n")
