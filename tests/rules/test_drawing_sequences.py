"""D3: sequences that draw their batches by a seed."""

from __future__ import annotations

import pytest

from .pairs import plan_of

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
        ("np.random.seed(0)", "rows = np.random.choice(len(x), 16)", "    np.random.seed(0 + hvd.rank())\n"),
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
    assert "    np.random.seed(0 + hvd.rank())\n" in plan_of(source).text


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
