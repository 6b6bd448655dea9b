"""How many rows something has that is brought into a shape: as many as the shape says, where it says so."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts.differences.answers import Uniform
from horovodize.facts.facts import facts_of
from horovodize.source import Document
from horovodize.summary import summarize

PROGRAM = """\
import random
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
n, shape = 32, (-1, 4)
found = np.random.rand(random.randint(1, 9))
{rows}
model.fit(rows, y)
"""


def is_alike(rows: str) -> bool:
    summary = summarize(Document(PROGRAM.format(rows=f"rows = {rows}")))
    facts = facts_of(summary)
    (fit,) = facts.sites.fits
    x = fit.call.args[0]
    assert isinstance(x, ast.Name)
    return isinstance(facts.uniform.number_of(x), Uniform)


@pytest.mark.parametrize(
    "rows", ["found.reshape(n, -1)", "np.reshape(found, (32, 4))", "found.reshape([n, 4])"]
)
def test_a_number_that_is_written_is_the_same_on_all_ranks(rows: str) -> None:
    assert is_alike(rows)


@pytest.mark.parametrize(
    "rows", ["found", "found.reshape(-1, 4)", "np.reshape(found, (-1, 4))", "found.reshape(shape)"]
)
def test_one_that_follows_from_the_rest_is_not(rows: str) -> None:
    assert not is_alike(rows)
