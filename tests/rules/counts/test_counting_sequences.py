"""G5: sequences that count the batches they are asked for."""

from __future__ import annotations

import pytest

from horovodize.plan import Plan

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
class Base(tf.keras.utils.Sequence):
    def __init__(self, x, y):
        self.x, self.y, self.step, self.p, self.level, self.asked = x, y, 0, 1.0, 0, 0
    def __len__(self):
        return len(self.x) // 16
    def change(self, rows):
        return rows * 0.999 ** self.step
class Rows(Base):
    def __getitem__(self, index):
        rows = self.x[index * 16:(index + 1) * 16]
        {line}
        self.step += 1
        return rows, self.y[index * 16:(index + 1) * 16]
class Whole(Base):
    def __getitem__(self, index):
        self.asked += 1
        return self.x * (1 - self.asked / 700), self.y
{fit}
"""
FIT = "model.fit(Rows(x, y), epochs=4, validation_data=Whole(x, y))"


def plan(line: str, fit: str = FIT) -> Plan:
    return plan_of(PROGRAM.format(line=line, fit=fit))


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("rows = rows * min(1.0, self.step / 100)", "min(1.0, self.step * hvd.size() / 100)"),
        ("strength = self.step / 100; rows = rows * strength", "strength = self.step * hvd.size() / 100"),
        ("rows = self.change(rows)", "rows * 0.999 ** (self.step * hvd.size())"),
        ("self.p *= 0.99; rows = rows * self.p", "self.p *= 0.99 ** hvd.size()"),
        ("rows = rows * (self.step // 100)", "(self.step // max(1, 100 // hvd.size()))"),
        ("rows = rows * 0.5 if self.step < 300 else rows", "self.step < max(1, 300 // hvd.size()) else"),
        ("self.level += self.step % 50 == 49; rows = rows + self.level", "% 50"),
        ("rows = rows[::-1] if np.random.rand() < self.step / 300 else rows", "< self.step * hvd.size() / 300"),
    ],
)  # fmt: skip
def test_what_rows_are_changed_by_is_told_the_batches_of_all_ranks(line: str, after: str) -> None:
    found = plan(line)
    assert after in found.text
    assert not found.to_confirm


def test_the_batches_that_are_validated_with_are_those_of_one_process() -> None:
    assert "(1 - self.asked / 700)" in plan("pass").text


@pytest.mark.parametrize(
    "line",
    [
        "rows = rows * (1 + index / 100)",  # the number of the batch in its epoch
        "print(self.step)",
        "rows = rows * (1 - 1 / 100)",
    ],
)
def test_no_formula_of_the_count_stays(line: str) -> None:
    assert line.removeprefix("print") in plan(line).text


LOOP = """\
rows = Rows(x, y)
for epoch in range(4):
    model.fit(x, y, epochs=1)
    print(rows[epoch])"""


def test_a_sequence_that_fit_is_not_given_stays() -> None:
    assert "rows * (1 - self.step / 900)" in plan("rows = rows * (1 - self.step / 900)", LOOP).text


BY_HAND = """\
rows = Rows(x, y)
for epoch in range(4):
    for i in {turns}:
        a, b = rows[i]
        model.train_on_batch(a, b)
"""


@pytest.mark.parametrize("turns", ["range(len(rows))", "np.random.permutation(len(rows))"])
def test_a_loop_that_asks_for_its_own_batches_likewise(turns: str) -> None:
    text = plan("rows = rows * (1 - self.step / 900)", BY_HAND.format(turns=turns)).text
    assert "rows * (1 - self.step * hvd.size() / 900)" in text


def test_a_loop_that_is_given_all_of_them_counts_all() -> None:
    loop = "for epoch in range(4):\n    for a, b in Rows(x, y):\n        model.train_on_batch(a, b)"
    text = plan("rows = rows * (1 - self.step / 900)", loop).text
    assert "in shard_batches(Rows(x, y)):" in text
    assert "rows * (1 - self.step / 900)" in text


SAME = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
def batches():
    while True:
        for i in range(0, len(x), 16):
            yield x[i:i + 16], y[i:i + 16]
class Rows(tf.keras.utils.Sequence):
    def __init__(self):
        self.at, self.batches, self.rng = 0, batches(), np.random.default_rng()
    def __len__(self):
        return len(x) // 16
    def __getitem__(self, index):
        {line}
model.fit(Rows(), epochs=4)
"""


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("return next(self.batches)", True),
        ("self.at = (self.at + 16) % len(x); return x[self.at:self.at + 16], y[self.at:self.at + 16]", True),
        ("rows = self.rng.choice(len(x), 16); return x[rows], y[rows]", False),
        ("rows = np.random.randint(0, len(x), 16); return x[rows], y[rows]", False),
        ("return x[index * 16:][:16], y[index * 16:][:16]", False),
    ],
)
def test_a_sequence_that_does_not_look_at_its_index(line: str, asked: bool) -> None:
    """Each rank trained on the same rows."""
    doubts = [q.doubt or "" for q in plan_of(SAME.format(line=line)).to_confirm]
    assert any("doesn't look at its index" in d for d in doubts) is asked


SHARED = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
asked = 0
class Base(tf.keras.utils.Sequence):
    def __init__(self, x, y):
        self.x, self.y, self.asked = x, y, 0
    def __len__(self):
        return len(self.x) // 16
    def load(self, index):
        {count}
        rows = slice(index * 16, index * 16 + 16)
        return self.x[rows], self.y[rows]
    def __getitem__(self, index):
        return self.load(index)
class Rows(Base):
    def __getitem__(self, index):
        x, y = {get}
        return x * (1 - self.asked / 700), y
class Held({base}):
    def __getitem__(self, index):
        return {held}
rows = Rows(x, y)
model.fit(rows, epochs=4, validation_data={given})
"""


def shared(
    get: str = "self.load(index)",
    held: str = "self.load(index)",
    base: str = "Base",
    given: str = "Held(x, y)",
    count: str = "self.asked += 1",
) -> str:
    return plan_of(SHARED.format(get=get, held=held, base=base, given=given, count=count)).text


TOLD = "x * (1 - self.asked * hvd.size() / 700)"


@pytest.mark.parametrize("get", ["self.load(index)", "super().__getitem__(index)"])
@pytest.mark.parametrize("held", ["self.load(index)", "super().__getitem__(index)", "self.load(index)[::-1]"])
def test_a_base_class_counts_for_each_of_its_sequences(get: str, held: str) -> None:
    """That of the sequence which is validated with counts its own: such a count was taken for none, without a word."""
    assert TOLD in shared(get, held)
    assert TOLD in shared(get, held, count="self.asked = self.asked + 1")


def test_a_number_that_sequences_share_is_no_count_of_one() -> None:
    """What another object asks, or all add to, goes on with the batches of validation, too."""
    assert TOLD not in shared(held="rows.load(index)", base="tf.keras.utils.Sequence")
    assert TOLD not in shared(count="Base.asked += 1")
    assert TOLD not in shared(count="global asked; asked += 1; self.asked = asked")


def test_a_sequence_that_only_validates_counts_none() -> None:
    alone = SHARED.format(
        get="self.load(index)", held="self.load(index)", base="Base", given="rows", count="self.asked += 1"
    ).replace("model.fit(rows,", "model.fit(x, y,")
    assert TOLD not in plan_of(alone).text
