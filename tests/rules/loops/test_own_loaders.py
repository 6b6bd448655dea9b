"""Objects that a loop takes its batches from, part of G4: what can be asked for a rank's own batches alone."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

SEQUENCE = """\
class Batches(tf.keras.utils.Sequence):
    def __init__(self, n):
        self.x, self.n = np.load("x.npy"), n
        self.order = np.arange(len(self.x))
        {begins}
    def __len__(self):
        return len(self.x) // self.n
    def __getitem__(self, k):
        rows = self.x[self.order[k * self.n : (k + 1) * self.n]]
        {there}
        return rows, rows
    def on_epoch_end(self):
        np.random.shuffle(self.order)
    {more}
batches = Batches(16)
for epoch in range(5):
    for a, b in {over}:
        step(a, b)
        {ends}
    batches.on_epoch_end()
"""
LOADER = """\
class Loader:
    def __init__(self, n):
        self.x, self.n = np.load("x.npy"), n
    def __len__(self):
        return len(self.x) // self.n
    def __iter__(self):
        order = np.random.permutation(len(self.x))
        for k in range(len(self)):
            rows = self.x[order[k * self.n : (k + 1) * self.n]]
            {there}
            yield rows, rows
loader = Loader(16)
{before}
for epoch in range(5):
    for a, b in loader:
        step(a, b)
        {ends}
    {after}
"""
WHOLE = "in shard_batches({}):\n"


def sequence(**parts: str) -> str:
    told = {"begins": "pass", "there": "pass", "more": "", "over": "batches", "ends": "pass"} | parts
    return plan_of(TAPE + SEQUENCE.format(**told)).text


def loader(**parts: str) -> str:
    told = {"there": "pass", "before": "", "after": "pass", "ends": "pass"} | parts
    return plan_of(TAPE + LOADER.format(**told)).text


def test_a_sequence_is_asked_for_a_ranks_own_batches() -> None:
    text = sequence()
    assert "for a, b in (batches[number] for number in shard(range(len(batches)))):" in text
    assert "    batches.on_epoch_end()\n" in text
    assert "alike(np.random.shuffle)(self.order)" in text
    assert "0.1 * hvd.size()" in text


def test_a_bar_around_a_sequence_stays() -> None:
    text = sequence(over="tqdm(batches)")
    assert "tqdm(batches[number] for number in shard(range(len(batches))))" in text


def test_what_a_batch_draws_by_no_seed_is_its_own() -> None:
    assert "batches[number]" in sequence(there="rows = rows + np.random.normal(size=rows.shape)")


def test_a_batch_may_be_put_together_row_by_row() -> None:
    there = "made = []\n        for row in rows:\n            made.append(cv2.imread(row))\n        out = np.empty((16, 3))\n"
    there += "        for i, row in enumerate(made):\n            out[i] = row"
    assert "batches[number]" in sequence(there=there)


@pytest.mark.parametrize(
    "parts",
    [
        {"there": "rows = rows[np.random.permutation(16)]"},  # which all ranks draw alike
        {"there": "rows = self.x[np.random.randint(0, 90, 16)]"},
        {"there": "self.seen = k"},  # a state
        {"there": "self.seen[k] = 1"},
        {"there": "self.seen.append(k)"},
        {"there": "rows = self.queue.pop()"},
        {"begins": "np.random.seed(1)", "there": "rows = rows + np.random.normal(size=rows.shape)"},
        {"ends": "if a.sum() > 9: break"},
        {"more": "def __iter__(self):\n        return iter([self[0]])"},
    ],
)
def test_a_sequence_that_goes_by_more_than_its_numbers_is_dealt_out(parts: dict[str, str]) -> None:
    assert WHOLE.format("batches") in sequence(**parts)


def test_a_sequence_of_pythons_own_is_dealt_out() -> None:
    text = (TAPE + SEQUENCE).format(begins="pass", there="pass", more="", over="batches", ends="pass")
    text = "import collections.abc\n" + text.replace("tf.keras.utils.Sequence", "collections.abc.Sequence")
    assert WHOLE.format("batches") in plan_of(text).text


def test_a_loader_is_divided_where_it_counts_its_batches() -> None:
    text = loader()
    assert "        for k in shard(range(len(self))):\n" in text
    assert "    for a, b in loader:\n" in text
    assert "alike(np.random.permutation)(len(self.x))" in text


def test_how_many_batches_a_loader_has_may_be_asked() -> None:
    assert "in shard(range(len(self))):" in loader(after="print(len(loader), loader.n)")


@pytest.mark.parametrize(
    "parts",
    [
        {"after": "print(sum(r.sum() for r, _ in loader))"},
        {"before": "first = next(iter(loader))"},
        {"after": "evaluate(loader)"},
        {"before": "held_out = Loader(32)"},
        {"before": "class More(Loader):\n    pass"},
        {"there": "self.seen = k"},
        {"ends": "if a.sum() > 9: break"},
    ],
)
def test_a_loader_that_others_go_through_is_dealt_out(parts: dict[str, str]) -> None:
    text = loader(**parts)
    assert "in range(len(self)):" in text
    assert WHOLE.format("loader") in text


PLAIN = """\
class Rows{bases}:
    def __init__(self, n):
        self.x, self.n = np.load("x.npy"), n
        self.batches = [self.x[i : i + n] for i in range(0, len(self.x), n)]
    def __len__(self):
        return {length}
    def __getitem__(self, k):
        {rows}
rows = Rows(16)
for epoch in range(5):
    for a, b in rows:
        step(a, b)
"""
BY_NUMBER = "if {}:\n            {}\n        a = self.x[k * self.n : (k + 1) * self.n]\n        return a, a"
NUMBER = "len(self.x) // self.n"
FIRST = "a = self.batches[k]\n        return a, a"


def plain(rows: str, length: str = NUMBER, bases: str = "") -> str:
    return plan_of(TAPE + PLAIN.format(rows=rows, length=length, bases=bases)).text


@pytest.mark.parametrize(
    ("rows", "length"),
    [
        (BY_NUMBER.format("k >= len(self)", "raise IndexError"), NUMBER),
        (BY_NUMBER.format("len(self) <= k", "raise IndexError('no more')"), NUMBER),
        (BY_NUMBER.format(f"k >= {NUMBER}", "raise IndexError()"), NUMBER),
        (FIRST, "len(self.batches)"),
        ("return self.batches[k], self.batches[k]", "len(self.batches)"),
    ],
)
@pytest.mark.parametrize("bases", ["", "(object)"])
def test_an_object_that_ends_where_its_length_says_is_asked_for_a_ranks_own(
    rows: str, length: str, bases: str
) -> None:
    assert "for a, b in (rows[number] for number in shard(range(len(rows)))):" in plain(rows, length, bases)


@pytest.mark.parametrize(
    ("rows", "length", "bases"),
    [
        (BY_NUMBER.format("k > len(self)", "raise IndexError"), NUMBER, ""),  # one more than its length
        (BY_NUMBER.format("k >= 2 * len(self)", "raise IndexError"), NUMBER, ""),
        (BY_NUMBER.format("k >= len(self)", "raise StopIteration"), NUMBER, ""),
        (BY_NUMBER.format("k >= len(self)", "k = 0"), NUMBER, ""),
        (BY_NUMBER.format("k >= len(self)", "raise IndexError"), NUMBER, "(Base)"),
        (FIRST, "len(self.x)", ""),
        (FIRST, NUMBER, ""),
        ("a = self.batches[k + 1]\n        return a, a", "len(self.batches)", ""),
        ("k = k % 3\n        return self.batches[k], self.batches[k]", "len(self.batches)", ""),
        ("self.last = k\n        return self.batches[k], self.batches[k]", "len(self.batches)", ""),
    ],
)
def test_an_object_that_may_end_elsewhere_is_dealt_out(rows: str, length: str, bases: str) -> None:
    assert WHOLE.format("rows") in plain(rows, length, bases)
