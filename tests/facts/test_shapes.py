"""How many rows arrays have, where the program says so."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts import facts_of
from horovodize.source import Document
from horovodize.summary import summarize


def rows_of(source: str) -> int | None:
    """The rows of what is called `found` in a program."""
    summary = summarize(
        Document("import numpy as np\nimport tensorflow as tf\nn = 40\n" + source + "\nprint(found)\n")
    )
    assert summary.module is not None
    name = next(
        n
        for n in ast.walk(summary.module.tree)
        if isinstance(n, ast.Name) and n.id == "found" and isinstance(n.ctx, ast.Load)
    )
    return facts_of(summary).steps.shapes.rows(name)


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("found = [[0, 0], [0, 1], [1, 0]]", 3),
        ("found = np.array([[0, 0], [0, 1]], dtype=np.float32)", 2),
        ("found = np.array([0, 1, 1, 0]).reshape(-1, 1)", 4),
        ("found = np.reshape([0.0, 1.0, 2.0, 3.0], (4, 1))", 4),
        ("found = np.arange(6.0).reshape((3, 2))", 3),
        ("found = np.arange(12).reshape(-1, 3)", 4),
        ("x = np.zeros((90, 4))\nfound = x.reshape(x.shape[0], 2, 2)", 90),
        ("x = np.zeros((90, 4))\nx = x.reshape((len(x), 2, 2)) / 255\nfound = x", 90),
        ("x = np.zeros((90, 4))\nfound = np.reshape(x, [x.shape[0], x.shape[1], 1])", 90),
        (
            "(x, _), (_, _) = tf.keras.datasets.mnist.load_data()\nx = x.reshape(x.shape[0], 28, 28, 1).astype('f')\n"
            "found = (x - 127.5) / 127.5",
            60000,
        ),
        ("found = np.arange(-1, 1, 0.2).reshape(-1, 1)", 10),
        ("found = np.arange(9, 0, -2)", 5),
        ("found = np.linspace(-1, 1, n)[:, np.newaxis]", 40),
        ("x = np.linspace(-1, 1)\nfound = 2 * x + 1", 50),
        ("x = np.random.rand(n, 3)\nfound = x @ np.ones((3, 1))", 40),
        ("rng = np.random.RandomState(0)\nfound = rng.rand(n, 3).astype('float32')", 40),
        ("found = np.random.normal(size=(n, 2))[:30]", 30),
        ("found = np.expand_dims(np.sin(np.arange(9.0)), -1)", 9),
        ("found = np.zeros((7, 28, 28))[:, 0]", 7),
        ("found = -np.ones(5)", 5),
        ("found = tf.random.normal([4096, 8], 0, 1)", 4096),
        ("found = np.random.normal(0, 1, (90, 2))", 90),
        ("found = np.zeros((700, 6, 6))[:512][..., np.newaxis]", 512),
        ("found = np.zeros((700, 6, 6))[..., 0]", 700),
        ("found = np.zeros((700, 6))[None, ...]", 1),
        ("found = np.zeros((700, 6))[3]", 6),
        ("found = np.array([1.0, 2.0] * 500)", 1000),
        (
            "import random\nrows = []\nfor x in random.sample(kept, 32):\n    rows.append(x)\nfound = np.array(rows)",
            32,
        ),
        (
            "import random\nrows, most = [], min(len(kept), n)\nfor x in random.sample(kept, most):\n    rows.append(x)\n"
            "found = np.array(rows)",
            40,
        ),
        ("rows = []\nfor i in range(n):\n    rows.append(make(i))\nfound = np.array(rows)", 40),
        ("found = np.array([np.array(image())] * n)", 40),
        ("image = np.random.rand(28, 28)\nfound = np.array([image, image] * 3)", 6),
        ("found = np.tile(np.random.rand(4), (n, 1))", 40),
        ("found = np.tile(np.random.rand(2, 4), (3, 1))", 6),
        ("found = np.repeat(np.random.rand(2, 4), 5, axis=0)", 10),
        ("x = np.random.rand(4)\nfound = np.stack([x + i for i in range(n)])", 40),
        ("found = np.concatenate([np.ones((2, 3))] * 4)", 8),
        ("found = np.arange(4.0) + np.zeros((n, 4))", 40),
    ],
)
def test_rows_that_are_seen(source: str, rows: int) -> None:
    assert rows_of(source) == rows


@pytest.mark.parametrize(
    "source",
    [
        "found = np.loadtxt('x.csv')",
        "found = np.arange(0, 9, 0)",
        "found = [np.zeros(9), np.ones(9)]",  # two arrays, as a model of two inputs takes them
        "found = np.zeros(open('n').read())",
        "found = np.zeros((9, 1))[mask]",
        "x = np.loadtxt('x.csv')\nfound = x.reshape(x.shape[0], 2)",
        "x = np.zeros((9, 4))\nfound = x.reshape(len(rest), 4)",
        "found = np.zeros(9) if n else np.zeros(8)",
        "found = np.array([1, 2, 3]) + rest",
        "found = np.zeros(9)[: len(rest)]",
        "found = 7",
        "found = [[1.0]] * 500",
        "found = np.array([1.0, 2.0] * len(rest))",
        "found = np.stack([rest[i] for i in rest])",
        "rows = []\nfor i in range(n):\n    if i % 2:\n        rows.append(i)\nfound = np.array(rows)",
        "rows = []\nfor e in range(3):\n    for i in range(n):\n        rows.append(i)\nfound = np.array(rows)",
        "rows = []\nfor i in range(n):\n    rows.append(i)\nrows.append(3)\nfound = np.array(rows)",
        "rows = []\nfor i in range(n):\n    if rest:\n        break\n    rows.append(i)\nfound = np.array(rows)",
        "found = np.tile(rest, (n, 1))",
        "found = np.repeat(np.zeros((2, 3)), n)",
        "found = [1.0] + rest",
        "found = [[1.0], [2.0]]\nfor i in range(900):\n    found.append([i])",
        "found = [1.0, 2.0]\nfound += rest",
        "found = np.array([1.0, 2.0], ndmin=2)",
        "found = tf.constant(0.0, shape=[100, 2])",
        "found = np.where(np.zeros(9))",
        "found = np.zeros((9, 1))[True]",
        "found = np.zeros((9, 1))[[1, 2]]",
        "found = ['a', 'b']",
    ],
)
def test_rows_that_are_not_seen(source: str) -> None:
    assert rows_of(source) is None


SPLIT = "from sklearn.model_selection import train_test_split\nx = np.zeros((30, 4))\n"
FRAME = "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2, 3], 'b': np.arange(3)})\n"


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("found, rest = train_test_split(x)", 22),  # as scikit-learn: a quarter, rounded up, is kept
        ("rest, found = train_test_split(x)", 8),
        ("a, b, found, d = train_test_split(x, x[:, 0], test_size=0.3, random_state=0)", 21),
        ("a, b, c, found = train_test_split(x, x[:, 0], test_size=5)", 5),
        ("found, rest = train_test_split(x, train_size=0.5)", 15),
        ("found, rest = train_test_split(read(), test_size=0.3)", None),
        ("found, rest = train_test_split(x, test_size=share())", None),
    ],
)
def test_rows_of_a_split(source: str, rows: int | None) -> None:
    assert rows_of(SPLIT + source) == rows


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("found = frame", 3),
        ("found = frame['a']", 3),
        ("found = frame[['a', 'b']].values", 3),
        ("found = frame['b'].to_numpy()[:2]", 2),
        ("found = pd.read_csv('rows.csv')['a']", None),
        ("found = pd.DataFrame({'a': read()})", None),
        ("found = pd.DataFrame({'a': 0.0}, index=range(9))", None),
    ],
)
def test_rows_of_a_table(source: str, rows: int | None) -> None:
    assert rows_of(FRAME + source) == rows
