"""D3: sequences that draw their batches by a seed."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

DRAWS = """\
import random
import numpy as np
import tensorflow as tf
{seed}
x, y = np.load("x.npy"), np.load("y.npy")


class Draws(tf.keras.utils.Sequence):
    def __init__(self):
        super().__init__()
        self.rng = np.random.RandomState(3)

    def __len__(self):
        return 20

    def __getitem__(self, index):
        {rows}
        return x[rows], y[rows]


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Draws(), epochs=3)
"""


@pytest.mark.parametrize(
    ("seed", "rows", "apart"),
    [
        ("np.random.seed(0)", "rows = np.random.choice(len(x), 16)", "    np.random.seed(hvd.rank())\n"),
        ("random.seed(5)", "rows = random.sample(range(len(x)), 16)", "    random.seed(5 + hvd.rank())\n"),
        ("", "rows = self.rng.randint(0, len(x), 16)", "self.rng = np.random.RandomState(3 + hvd.rank())"),
    ],
)
def test_ranks_draw_batches_of_their_own(seed: str, rows: str, apart: str) -> None:
    """All trained on the same, at size() times the rate."""
    assert apart in plan_of(DRAWS.format(seed=seed, rows=rows)).text


def test_rows_that_a_function_draws() -> None:
    source = DRAWS.format(seed="np.random.seed(0)", rows="rows = pick(16)").replace(
        "class Draws", "def pick(n):\n    return np.random.choice(len(x), n)\n\n\nclass Draws"
    )
    assert "    np.random.seed(hvd.rank())\n" in plan_of(source).text


@pytest.mark.parametrize(
    ("seed", "rows"),
    [
        ("np.random.seed(0)", "rows = slice(index * 16, index * 16 + 16)"),
        (
            "np.random.seed(0)",
            "rows = np.random.permutation(np.arange(index * 16, index * 16 + 16))",
        ),  # of its number
        ("random.seed(0)", "rows = np.random.choice(len(x), 16)"),  # another generator
    ],
)
def test_other_seeds_stay(seed: str, rows: str) -> None:
    text = plan_of(DRAWS.format(seed=seed, rows=rows)).text
    assert seed in text
    assert "+ hvd.rank())" not in text


@pytest.mark.parametrize(
    "rows",
    [
        "rows = np.concatenate([np.arange(index * 8, index * 8 + 8), self.rng.choice(rare, 8)])",
        "start = self.rng.randint(0, len(x) - 16); rows = slice(start, start + 16); print(index)",
    ],
)
def test_rows_that_are_drawn_beside_those_of_the_number(rows: str) -> None:
    """All ranks drew the same rare rows for batches that differ."""
    source = DRAWS.format(seed="rare = np.load('rare.npy')", rows=rows)
    assert "self.rng = np.random.RandomState(3 + hvd.rank())" in plan_of(source).text


@pytest.mark.parametrize(
    "rows",
    [
        "rows = slice(index * 16, index * 16 + 16); noise = self.rng.normal(size=16)",
        "rows = np.arange(index * 16, index * 16 + 16); self.kept = self.rng.permutation(len(x))",
        "rows = np.random.RandomState(index).choice(len(x), 16)",
        "image = x[index]; top = self.rng.randint(0, 4); image = image[top : top + 8]; rows = slice(index, index + 8)",
    ],
)
def test_what_selects_no_rows_is_drawn_as_before(rows: str) -> None:
    plan = plan_of(DRAWS.format(seed="", rows=rows))
    assert "RandomState(3)" in plan.text
    assert [c.doubt for c in plan.changes if c.rule == "D3" and c.doubt] == []


def test_a_loop_over_the_numbers_of_a_sequence_is_asked_about() -> None:
    source = DRAWS.format(
        seed="np.random.seed(0)", rows="rows = np.random.randint(0, len(x), 16); print(index)"
    )
    loop = """\
sequence, opt = Draws(), tf.keras.optimizers.SGD(0.1)
for i in range(len(sequence)):
    a, b = sequence[i]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
    plan = plan_of(source.replace("model.fit(Draws(), epochs=3)\n", loop))
    assert any(c.rule == "D3" and "draws the same batches" in c.doubt for c in plan.to_confirm)


_SEEDED = DRAWS.format(seed="", rows="rows = self.rng.randint(0, len(x), 16)").replace(
    "RandomState(3)", "RandomState(seed)"
)


@pytest.mark.parametrize(
    ("parameters", "made"),
    [
        ("self, seed=None", "Draws()"),
        ("self, seed=7", "Draws(None)"),
        ("self, *, seed=None", "Draws()"),
        ("self, batch=4, seed=None", "Draws(8)"),
    ],
)
def test_a_class_that_is_given_no_seed_asks_nothing(parameters: str, made: str) -> None:
    """Another object of the class had one; these draws start differently on each rank as they are."""
    plan = plan_of(_of_two(parameters, made))
    assert [plan.text.count(made), [c.doubt for c in plan.changes if c.rule == "D3" and c.doubt]] == [1, []]


@pytest.mark.parametrize(
    ("parameters", "made"),
    [
        ("self, seed=None", "Draws(3)"),
        ("self, seed=None", "Draws(seed=3)"),
        ("self, seed=7", "Draws()"),
        ("self, *, seed=7", "Draws()"),
        ("self, seed=None", "Draws(**options)"),
    ],
)
def test_a_class_that_is_given_one_is_asked_about(parameters: str, made: str) -> None:
    plan = plan_of(_of_two(parameters, made))
    assert any(c.rule == "D3" and (c.doubt or "hvd.rank()" in plan.text) for c in plan.changes)


def _of_two(parameters: str, made: str) -> str:
    source = _SEEDED.replace("def __init__(self)", f"def __init__({parameters})").replace(
        "fit(Draws()", f"fit({made}"
    )
    return source.replace("model = ", 'options = {"seed": 3}\ntest = Draws(seed=3)\nmodel = ')
