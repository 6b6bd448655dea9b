"""K4: a `PyDataset` of Keras 3 that tells its batches by `num_batches`, or that it has no end."""

from __future__ import annotations

import re
import types
from typing import Any

import pytest

from ..pairs import plan_of

SCRIPT = """\
import keras
import numpy as np
class Rows(keras.utils.PyDataset):
{told}
    def __getitem__(self, index):
        return np.ones((8, 4)) * index, np.ones((8, 1))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Rows(), epochs=2, steps_per_epoch=7)
"""
PROPERTY = "    @property\n    def num_batches(self):\n        return 7"
LENGTH = "    def __len__(self):\n        return 7"


def helper(text: str, rank: int, size: int) -> Any:
    """The class that the distributed program deals its batches out by."""
    found = re.search(r"^class ShardedSequence.*?\n(?=\S)", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    data = types.SimpleNamespace(PyDataset=type("PyDataset", (), {"__init__": lambda *_: None}))
    keras = types.SimpleNamespace(utils=types.SimpleNamespace(**vars(data), Sequence=data.PyDataset))
    hvd = types.SimpleNamespace(rank=lambda: rank, size=lambda: size)
    names: dict[str, Any] = {"keras": keras, "tf": types.SimpleNamespace(keras=keras), "hvd": hvd}
    exec(found.group(), names)
    return names["ShardedSequence"]


class Letters(dict[int, str]):
    workers, use_multiprocessing, max_queue_size = 1, False, 10

    def __init__(self, letters: str, num_batches: int | None) -> None:
        super().__init__(enumerate(letters))
        self.num_batches = num_batches


def test_each_rank_has_as_many_of_them() -> None:
    """The class asked for a length that such a data set doesn't have, and failed."""
    text = plan_of(SCRIPT.format(told=PROPERTY), tensorflow="2.17").text
    shares = [helper(text, rank, 3)(Letters("abcdefg", 7)) for rank in range(3)]
    assert [share.num_batches for share in shares] == [2, 2, 2]
    assert [share[k] for k in range(2) for share in shares] == list("abcdef")


def test_without_an_end_each_rank_goes_on() -> None:
    text = plan_of(SCRIPT.format(told=PROPERTY.replace("7", "None")), tensorflow="2.17").text
    shares = [helper(text, rank, 2)(Letters("abcdef", None)) for rank in range(2)]
    assert [share.num_batches for share in shares] == [None, None]
    assert [share[k] for k in range(3) for share in shares] == list("abcdef")
    assert "steps_per_epoch=max(1, 7 // hvd.size())" in text


@pytest.mark.parametrize("tensorflow", ["2.17", "2.15"])
def test_one_that_has_a_length_is_asked_for_it(tensorflow: str) -> None:
    text = plan_of(SCRIPT.format(told=LENGTH), tensorflow=tensorflow).text
    assert "def __len__(self):\n        return max(1, len(self.sequence) // self.size)" in text
    assert "num_batches" not in text
