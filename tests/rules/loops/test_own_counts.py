"""What a generator counts of its own batches, where each rank draws from its own: it counts those of all ranks."""

from __future__ import annotations

import pytest

from ..dividing import KERAS, TAPE
from ..pairs import plan_of

FIT = "model.fit(batches(), steps_per_epoch=100)\n"
DRAWS = KERAS + "import itertools, mine\nx, y = mine.load()\n"


def counting(before: str, after: str = "        n += 1\n", made: str = "x[i] * level") -> str:
    head = "def batches():\n    n = 0\n    while True:\n        i = np.random.randint(0, 960, 8)\n"
    return DRAWS + head + before + f"        yield {made}, y[i]\n" + after + FIT


@pytest.mark.parametrize(
    "before",
    [
        "        level = min(1.0, n / 150)\n",
        "        last = min(960, 96 + n)\n        i, level = np.random.randint(0, last, 8), 1.0\n",
        "        level = np.exp(-n / 150)\n",
        "        level = 0.1\n        if n > 150:\n            level = 1.0\n",
        "        level = [0.1, 0.5, 1.0][min(n // 50, 2)]\n",
    ],
)
def test_a_generator_that_draws_counts_the_batches_of_all_ranks(before: str) -> None:
    text = plan_of(counting(before)).text
    assert "        n += hvd.size()\n" in text
    assert "model.fit(batches(), steps_per_epoch=100 // hvd.size()" in text


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("def batches():\n    n = 0\n    while True:\n        i = np.random.randint(0, 960, 8)\n"
         "        yield x[i] * min(1.0, n / 960), y[i]\n        n += 8\n", "n += 8 * hvd.size()\n"),
        ("def batches(size=8):\n    n = 0\n    while True:\n        i = np.random.randint(0, 960, size)\n"
         "        yield x[i] * min(1.0, n / 960), y[i]\n        n = n + size\n", "n = n + size * hvd.size()\n"),
        ("def batches():\n    n = 0\n    while True:\n        order = np.random.permutation(960)\n"
         "        for i in range(0, 960, 8):\n            n += 1\n"
         "            yield x[order[i:i + 8]] * min(1.0, n / 960), y[order[i:i + 8]]\n",
         "for i in range(0, 960, 8):\n            n += hvd.size()\n"),
        ("def batches():\n    for n in range(10000):\n        i = np.random.randint(0, 960, 8)\n"
         "        yield x[i] * min(1.0, n / 150), y[i]\n", "for n in range(0, 10000, hvd.size()):\n"),
        ("def batches():\n    for n in range(1, 10001):\n        i = np.random.randint(0, 960, 8)\n"
         "        yield x[i] * min(1.0, n / 150), y[i]\n", "for n in range(1, 10001, hvd.size()):\n"),
        ("n = 0\ndef batches():\n    global n\n    while True:\n        i = np.random.randint(0, 960, 8)\n"
         "        yield x[i] * min(1.0, n / 960), y[i]\n        n += 1\n", "n += hvd.size()\n"),
        ("class Source:\n    def __init__(self):\n        self.seen = 0\n    def level(self):\n"
         "        return min(1.0, self.seen / 150)\n    def draw(self):\n        while True:\n"
         "            self.seen += 1\n            i = np.random.randint(0, 960, 8)\n"
         "            yield x[i] * self.level(), y[i]\nbatches = Source().draw\n", "self.seen += hvd.size()\n"),
    ],
)  # fmt: skip
def test_so_does_one_whose_count_is_kept_or_numbers_a_loop_or_counts_rows(made: str, after: str) -> None:
    assert after in plan_of(DRAWS + made + FIT).text


def test_a_count_that_others_read_is_asked_about() -> None:
    made = (
        "class Source:\n    def __init__(self):\n        self.seen = 0\n    def draw(self):\n        while True:\n"
        "            self.seen += 1\n            i = np.random.randint(0, 960, 8)\n"
        "            yield x[i] * min(1.0, self.seen / 150), y[i]\n"
        "source = Source()\ndef batches():\n    return source.draw()\n"
    )
    plan = plan_of(DRAWS + made + FIT + "if source.seen == 100:\n    model.save('m.h5')\n")
    assert "self.seen += 1\n" in plan.text
    assert any("this counts the batches that one rank draws" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    "body",
    [
        "    for n in range(120):\n        yield x[n:n + 8] + x[np.random.randint(0, 960, 8)], y[n:n + 8]\n",
        "    for n in range(120):\n        part = np.load(f'{n}.npy')\n        i = np.random.randint(0, 960, 8)\n"
        "        yield part[i], y[i]\n",
        "    for n in range(120):\n        i = np.random.randint(0, 960, 8)\n        part = rows(n)\n"
        "        yield part[i], y[i]\n",
        "    while True:\n        order = np.random.permutation(120)\n        for n in range(120):\n"
        "            yield x[order[n]], y[order[n]]\n",
    ],
)
def test_a_number_by_which_rows_are_selected_stays(body: str) -> None:
    head = "def rows(k):\n    first = k * 8\n    return x[first:first + 8]\n"
    plan = plan_of(DRAWS + head + "def batches():\n" + body + FIT)
    assert "range(120)" in plan.text
    assert not any("counts the batches" in c.doubt for c in plan.changes)


def test_so_does_one_by_itertools_and_one_that_a_loop_draws_from() -> None:
    loop = "def batches():\n    for n in itertools.count():\n        i = np.random.randint(0, 960, 8)\n"
    text = plan_of(DRAWS + loop + "        yield x[i] * min(1.0, n / 150), y[i]\n" + FIT).text
    assert "for n in itertools.count(step=hvd.size()):" in text
    by_hand = counting("        level = min(1.0, n / 150)\n").replace(FIT, "").replace(DRAWS, TAPE + DRAWS)
    text = plan_of(
        by_hand + "gen = batches()\nfor k in range(1000):\n    x, y = next(gen)\n    step(x, y)\n"
    ).text
    assert "        n += hvd.size()\n" in text
    assert "x, y = next(gen)" in text


@pytest.mark.parametrize(
    "before",
    [
        "        if n == 150:\n            level = 1.0\n",
        "        if n % 150 == 0:\n            level = level * 2\n",
        "        level = mine.level(n)\n",
    ],
)
def test_what_such_a_count_does_elsewhere_is_asked(before: str) -> None:
    plan = plan_of(counting(before))
    assert any("this counts the batches that one rank draws" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("before", "after", "made"),
    [
        ("", "        n += 1\n", "x[i]"),  # counts, and does nothing with it
        ("        if n % 100 == 0:\n            print(n)\n", "        n += 1\n", "x[i]"),
        ("        k = n % 9\n", "        n += 1\n", "x[k] * np.random.rand()"),  # goes round through rows
        ("", "        n += 1\n", "x[n * 8:n * 8 + 8] + x[i]"),
        ("        level = n / 9\n", "        n += 1\n        if n > 9:\n            n = 0\n", "x[i] * level"),
        ("        level = n / 9\n", "        n += len(names)\n", "x[i] * level"),  # no count of batches
        ("        first = n * 8\n", "        n += 1\n", "x[first:first + 8] + x[i]"),
        ("        part = np.load(f'{n}.npy')\n", "        n += 1\n", "part[i]"),
        ("        k = np.sort(i)[n]\n", "        n += 1\n", "x[k] * np.random.rand()"),
    ],
)
def test_other_numbers_of_a_generator_stay(before: str, after: str, made: str) -> None:
    plan = plan_of(counting(before, after, made))
    assert after in plan.text
    assert not any("counts the batches" in c.doubt for c in plan.changes)


def test_a_generator_that_is_dealt_out_counts_as_it_did() -> None:
    seeded = counting("        level = n / 9\n").replace("def batches", "np.random.seed(3)\ndef batches")
    text = plan_of(seeded).text
    assert "        n += 1\n" in text
    assert "shard_batches(batches())" in text
