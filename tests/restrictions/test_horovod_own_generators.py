"""HVD319: orders and folds that generators draw, and orders that are drawn before a function divides them."""

from __future__ import annotations

import pytest

from .helpers import codes

HEAD = """\
import random
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

hvd.init()
rows = np.load("rows.npy")
"""
DIVIDED = "mine = rows[order][hvd.rank() :: hvd.size()]\n"


@pytest.mark.parametrize(
    ("maker", "apart"),
    [
        ("np.random.default_rng()", True),
        ("np.random.default_rng(None)", True),
        ("np.random.default_rng(hvd.rank())", True),
        ("np.random.RandomState()", True),
        ("np.random.Generator(np.random.PCG64())", True),
        ("np.random.default_rng(7)", False),
        ("np.random.RandomState(seed=7)", False),
        ("np.random.Generator(np.random.PCG64(7))", False),
        ("np.random.default_rng(args.seed)", False),
        ("np.random.default_rng() if alone else np.random.default_rng(7)", False),
        ("unseen()", False),
    ],
)
def test_an_order_that_a_generator_draws(maker: str, apart: bool) -> None:
    drawn = f"rng = {maker}\norder = rng.permutation(len(rows))\n{DIVIDED}"
    assert ("HVD319" in codes(HEAD + drawn)) == apart
    in_place = f"rng = {maker}\norder = np.arange(len(rows))\nrng.shuffle(order)\nmine = order[hvd.rank() :: hvd.size()]\n"
    assert ("HVD319" in codes(HEAD + in_place)) == apart


@pytest.mark.parametrize(
    ("made", "apart"),
    [
        ("random.Random().sample(range(len(rows)), len(rows))", True),
        ("random.Random(7).sample(range(len(rows)), len(rows))", False),
        ("random.SystemRandom().sample(range(len(rows)), len(rows))", True),
        ("hvd.broadcast_object(np.random.default_rng().permutation(len(rows)))", False),
    ],
)
def test_an_order_by_pythons_generators(made: str, apart: bool) -> None:
    assert ("HVD319" in codes(HEAD + f"order = {made}\n{DIVIDED}")) == apart


@pytest.mark.parametrize(
    ("folds", "apart"),
    [
        ("KFold(5, shuffle=True)", True),
        ("StratifiedKFold(n_splits=5, shuffle=True)", True),
        ("ShuffleSplit(3, test_size=0.1)", True),
        ("KFold(5)", False),
        ("KFold(5, shuffle=args.shuffle)", False),
        ("KFold(5, shuffle=True, random_state=7)", False),
        ("ShuffleSplit(3, random_state=7)", False),
    ],
)
def test_folds(folds: str, apart: bool) -> None:
    text = f"folds = {folds}\nfor train, test in folds.split(rows):\n    mine = rows[train[hvd.rank() :: hvd.size()]]\n"
    assert ("HVD319" in codes(HEAD + text)) == apart
    assert "HVD319" not in codes(HEAD + "np.random.seed(7)\n" + text)


CALLED = """\
def part(files):
    return files[hvd.rank() :: hvd.size()]


files = [f"{i}.npy" for i in range(8)]
BEFORE
mine = part(files)
"""


@pytest.mark.parametrize(
    ("before", "apart"),
    [
        ("random.shuffle(files)", True),
        ("random.seed(7)\nrandom.shuffle(files)", False),
        ("random.Random(7).shuffle(files)", False),
        ("random.shuffle(others)", False),
        ("mine = part(files)\nrandom.shuffle(files)", False),
    ],
)
def test_a_list_that_is_shuffled_before_a_function_divides_it(before: str, apart: bool) -> None:
    assert ("HVD319" in codes(HEAD + CALLED.replace("BEFORE", before))) == apart
