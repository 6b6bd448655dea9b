"""HVD333: numbers that words get by `hash` or by the order of a set, and masks that a layer computes with."""

from __future__ import annotations

import pytest

from .helpers import codes

HEAD = """\
import zlib
from collections import Counter
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
texts = open("texts.txt").read().splitlines()
counts = Counter(word for text in texts for word in text.split())
"""
TRAINED = """
model = network(5000)
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("numbered", "apart"),
    [
        ("index = {word: hash(word) % 5000 for text in texts for word in text.split()}", True),
        ("index = {}\nfor word in texts[0].split():\n    index[word] = 1 + abs(hash(word)) % 5000", True),
        ("rows = [[hash(word) % 5000 for word in text.split()] for text in texts]", True),
        (
            "index = {word: zlib.crc32(word.encode()) % 5000 for text in texts for word in text.split()}",
            False,
        ),
        ("index = {number: hash(number) % 50 for number in range(5000)}", False),
        ("index = {row: hash(row) % 50 for row in read()}", False),
        ("mine = [text for text in texts if hash(text) % 5000 == 0]", False),
        (
            "import os\nos.environ['PYTHONHASHSEED']\nindex = {w: hash(w) % 50 for w in texts[0].split()}",
            False,
        ),
        ("words = list(set(counts))[:5000]\nindex = {word: i for i, word in enumerate(words)}", True),
        ("words = list(set(counts.keys()))\nindex = {word: i for i, word in enumerate(words)}", True),
        ("words = sorted(set(counts))[:5000]\nindex = {word: i for i, word in enumerate(words)}", False),
        ("words = list(counts)[:5000]\nindex = {word: i for i, word in enumerate(words)}", False),
    ],
)
def test_numbers_of_words(numbered: str, apart: bool) -> None:
    assert ("HVD333" in codes(HEAD + numbered + TRAINED)) == apart


@pytest.mark.parametrize(
    ("key", "apart"),
    [
        ("key=lambda word: -counts[word]", True),
        ("key=counts.get, reverse=True", True),
        ("key=lambda word: counts.get(word, 0)", True),
        ("key=len", True),
        ("key=lambda word: (-counts[word], word)", False),
        ("key=lambda word: order[word]", False),
        ("key=str.lower", False),
        ("key=rank_of", False),
    ],
)
def test_words_that_are_sorted_by_counts(key: str, apart: bool) -> None:
    numbered = "index = {word: i for i, word in enumerate(sorted(SET, KEY)[:5000])}"
    text = HEAD + numbered.replace("KEY", key) + TRAINED
    assert ("HVD333" in codes(text.replace("SET", "set(counts)"))) == apart
    assert "HVD333" not in codes(text.replace("SET", "counts"))


LAYER = """
class Masked(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.mask = MADE

    def call(self, inputs):
        USED


inputs = tf.keras.Input((4,))
outputs = tf.keras.layers.Dense(1)(Masked(4)(inputs))
model = tf.keras.Model(inputs, outputs)
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("made", "used", "apart"),
    [
        ("np.random.rand(units)", "return inputs * self.mask", True),
        ("tf.constant(np.random.rand(units), tf.float32)", "return inputs * self.mask", True),
        ("(np.random.rand(units) > 0.5).astype('float32')", "return inputs * self.mask", True),
        ("np.random.default_rng().normal(size=units)", "return inputs + self.mask", True),
        ("np.random.default_rng(7).normal(size=units)", "return inputs + self.mask", False),
        ("tf.Variable(np.random.rand(units))", "return inputs * self.mask", False),
        ("np.ones(units)", "return inputs * self.mask", False),
        ("np.random.rand(units)", "return inputs", False),
        ("None", "mask = np.random.rand(4)\n        return inputs * mask", False),
    ],
)
def test_a_mask_that_each_rank_draws(made: str, used: str, apart: bool) -> None:
    text = HEAD + LAYER.replace("MADE", made).replace("USED", used)
    assert ("HVD333" in codes(text)) == apart
    assert "HVD333" not in codes(
        text.replace("hvd.init()", "hvd.init()\nnp.random.seed(7)").replace("default_rng()", "default_rng(7)")
    )


def test_a_mask_of_a_lambda_layer() -> None:
    text = "mask = np.random.rand(8)\nlayer = tf.keras.layers.Lambda(lambda rows: rows * mask)\n"
    assert "HVD333" in codes(HEAD + text + TRAINED)
    assert "HVD333" not in codes(HEAD + "np.random.seed(7)\n" + text + TRAINED)
