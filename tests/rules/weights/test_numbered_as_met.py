"""G2: names that are numbered as training meets them get another number on each rank."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import itertools
from collections import defaultdict
import numpy as np
import tensorflow as tf

texts, y = open("texts.txt").read().splitlines(), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Embedding(100, 4), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
{table}


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for epoch in range(9):
    for i in range(0, len(texts), 16):
        step(np.array([[{number} for w in t.split()] for t in texts[i : i + 16]]), y[i : i + 16])
"""
CLASS = """\
class Vocabulary:
    def __init__(self):
        self.ids = {}

    def number(self, w):
        if w not in self.ids:
            self.ids[w] = len(self.ids) + 1
        return self.ids[w]


vocabulary = Vocabulary()
"""


def asked(table: str, number: str) -> int:
    plan = plan_of(PROGRAM.format(table=table, number=number))
    return sum("another number on each" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("table", "number"),
    [
        ("ids = defaultdict(lambda: len(ids))", "ids[w]"),
        ("ids = defaultdict(itertools.count(1).__next__)", "ids[w]"),
        ("ids = {}", "ids.setdefault(w, len(ids))"),
        (CLASS, "vocabulary.number(w)"),
    ],
)
def test_numbers_that_go_by_the_order_of_a_ranks_own_rows_are_asked_about(table: str, number: str) -> None:
    assert asked(table, number) == 1


@pytest.mark.parametrize(
    ("table", "number"),
    [
        ("ids = defaultdict(lambda: 0)", "ids[w]"),  # all that is new is the same
        ("ids = {w: n for n, w in enumerate(open('words.txt'))}", "ids.get(w, len(ids))"),
        ("ids = {}\nfor t in texts:\n    for w in t.split(): ids.setdefault(w, len(ids))", "ids[w]"),
    ],
)
def test_what_was_numbered_before_is_the_same_on_all_ranks(table: str, number: str) -> None:
    assert asked(table, number) == 0


SELECTED = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for epoch in range(9):
    for i in range(0, len(x), 16):
        {test}
            break
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x[i : i + 16]) - y[i : i + 16]) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(
    "test",
    ["if x[i : i + 16].max() > 3:", "if sum(float(v) for row in x[i : i + 16] for v in row) > 3:"],
)
def test_rows_that_are_selected_where_they_are_read_are_a_ranks_own(test: str) -> None:
    assert "if any_rank(" in plan_of(SELECTED.format(test=test)).text


def test_a_number_that_counts_is_the_same_on_all_ranks() -> None:
    assert "any_rank(" not in plan_of(SELECTED.format(test="if i > 320:")).text
