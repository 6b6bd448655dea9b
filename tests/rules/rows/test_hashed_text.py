"""D3: text that Python's `hash` turns into numbers has the same numbers on all ranks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ..pairs import plan_of

TRAIN = """\
import numpy as np
import tensorflow as tf
{imports}
lines = open("lines.txt").read().splitlines()
{made}
y = np.array([len(line) for line in lines])
model = tf.keras.Sequential([tf.keras.layers.Embedding(100, 4), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, batch_size=16)
"""


def distributed(made: str, imports: str = "") -> str:
    return plan_of(TRAIN.format(made=made, imports=imports)).text


@pytest.mark.parametrize(
    ("imports", "made", "after"),
    [
        ("", "x = np.array([hash(line) % 100 for line in lines])", "hash_alike(line) % 100"),
        (
            "",
            "x = np.array([abs(hash((line, 1))) % 100 for line in lines])",
            "abs(hash_alike((line, 1))) % 100",
        ),
        (
            "from tensorflow.keras.preprocessing.text import one_hot",
            "x = np.array([one_hot(line, 100) for line in lines])",
            "hashing_trick(line, 100, hash_function=hash_alike)",
        ),
        (
            "from keras.preprocessing import text",
            "x = np.array([text.one_hot(line, n=100, lower=False) for line in lines])",
            "text.hashing_trick(line, n=100, lower=False, hash_function=hash_alike)",
        ),
        (
            "",
            "x = np.array([tf.keras.preprocessing.text.hashing_trick(line, 100) for line in lines])",
            "hashing_trick(line, 100, hash_function=hash_alike)",
        ),
        (
            "",
            "x = np.array([tf.keras.preprocessing.text.hashing_trick(line, 100, hash) for line in lines])",
            "hashing_trick(line, 100, hash_alike)",
        ),
    ],
)
def test_text_is_hashed_alike(imports: str, made: str, after: str) -> None:
    text = distributed(made, imports)
    assert after in text
    assert "import hashlib" in text


def test_what_the_helper_needs_is_imported_from_where_the_other_was() -> None:
    imports = "from tensorflow.keras.preprocessing.text import one_hot"
    text = distributed("x = np.array([one_hot(line, 100) for line in lines])", imports)
    assert "from tensorflow.keras.preprocessing.text import hashing_trick" in text


@pytest.mark.parametrize(
    "made",
    [
        "x = np.array([hash(len(line)) % 100 for line in lines])",  # of a number: the same everywhere
        "x = np.array([tf.keras.preprocessing.text.hashing_trick(line, 100, 'md5') for line in lines])",
        "def hash(line):\n    return len(line)\nx = np.array([hash(line) for line in lines])",
        "class Word:\n    def __hash__(self):\n        return hash(self.word)\nx = np.array([len(line) for line in lines])",
    ],
)
def test_what_is_the_same_in_each_process_stays(made: str) -> None:
    assert "hash_alike" not in distributed(made)


def test_arguments_by_place_that_are_others_are_asked_about() -> None:
    imports = "from tensorflow.keras.preprocessing.text import one_hot"
    plan = plan_of(
        TRAIN.format(made="x = np.array([one_hot(line, 100, '!') for line in lines])", imports=imports)
    )
    (asked,) = plan.to_confirm
    assert "another in each process" in str(asked.doubt)


@pytest.mark.parametrize(("same", "alike"), [(True, False), (False, True)], ids=["one process", "ranks"])
def test_the_helper_gives_two_processes_the_same_where_there_are_ranks(same: bool, alike: bool) -> None:
    """Of text; numbers are hashed as before."""
    text = distributed("x = np.array([hash(line) % 100 for line in lines])")
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def hash_alike"))
    helper = "\n".join(lines[start : start + 3])
    horovod = f"import types, hashlib\nhvd = types.SimpleNamespace(size=lambda: {1 if same else 2})"
    asked = "print(hash_alike('word'), hash_alike(('a', 2)), hash_alike(7))"
    program = f"{horovod}\n{helper}\n{asked}"
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert (said[0] == said[1]) is alike
    assert all(given[2] == "7" for given in said)
    assert all(abs(int(given[0])) < 2**63 for given in said)
