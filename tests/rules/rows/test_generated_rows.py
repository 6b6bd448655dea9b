"""D1: functions that make rows for `from_generator` go through this rank's rows only, where that is the same."""

from __future__ import annotations

import pytest

from ..dividing import KERAS
from ..pairs import plan_of

HEAD = (
    KERAS
    + "import glob, os\nx = np.zeros((64, 8))\ny = np.zeros(64)\npaths = sorted(glob.glob('d/*'))\nlabels = [0.0] * 64\n"
    + "def noisy(row):\n    return row + np.random.normal(size=8)\n"
)
DATASET = "ds = tf.data.Dataset.from_generator(rows, (tf.float32, tf.float32)).shuffle(64).batch(8)\nmodel.fit(ds, epochs=2)\n"


def text_of(turns: str, row: str = "x[i], y[i]", dataset: str = DATASET, before: str = "") -> str:
    function = f"def rows():\n{before}    for {turns}:\n        yield {row}\n"
    return plan_of(HEAD + function + dataset).text


@pytest.mark.parametrize(
    ("turns", "after", "row"),
    [
        ("i in range(len(x))", "i in shard(range(len(x)))", "x[i], y[i]"),
        ("i in np.random.permutation(64)", "i in shard(alike(np.random.permutation)(64))", "x[i], y[i]"),
        ("i in range(len(x))", "i in shard(range(len(x)))", "noisy(x[i]), y[i]"),
        ("p in paths", "p in shard(paths)", "np.load(p), 0.0"),
        ("p in os.listdir('d')", "p in shard(os.listdir('d'))", "np.load(p), 0.0"),
        ("p in sorted(os.listdir('d'))", "p in shard(sorted(os.listdir('d')))", "np.load(p), 0.0"),
        ("p, l in zip(paths, labels)", "p, l in zip(shard(paths), shard(labels))", "np.load(p), l"),
        ("a, b in zip(x, y)", "a, b in zip(shard(x), shard(y))", "a, b"),
        ("a, b in zip(x[:32], y[:32])", "a, b in zip(shard(x[:32]), shard(y[:32]))", "a, b"),
    ],
)
def test_it_goes_through_this_ranks_rows(turns: str, after: str, row: str) -> None:
    text = text_of(turns, row)
    assert f"    for {after}:\n        yield {row}\n" in text
    assert (
        "ds = tf.data.Dataset.from_generator(rows, (tf.float32, tf.float32)).shuffle(64).batch(8)\n" in text
    )


@pytest.mark.parametrize(
    ("turns", "row", "before"),
    [
        ("line in open('rows.txt')", "float(line), 0.0", ""),  # can't be taken by numbers
        ("row in pd.read_csv('rows.csv', chunksize=8)", "row, 0.0", "    import pandas as pd\n"),
        ("i, a in enumerate(x)", "a, y[i]", ""),  # counts its turns
        (
            "i in range(len(x))",
            "x[i] + rng.normal(), y[i]",
            "    rng = np.random.default_rng(3)\n",
        ),  # by a seed
        ("i in range(len(x))", "memory.pop(), y[i]", ""),  # leaves something behind
    ],
)
def test_where_that_would_be_something_else_the_dataset_is_divided(turns: str, row: str, before: str) -> None:
    text = text_of(turns, row, before=before)
    assert f"    for {turns}:\n        yield {row}\n" in text
    assert "ds = shard_stream(tf.data.Dataset.from_generator(" in text


def test_a_function_that_also_makes_what_is_evaluated() -> None:
    """It is told for which dataset it is to go through this rank's rows."""
    function = "def rows(part):\n    for i in range(*part):\n        yield x[i], y[i]\n"
    made = "tf.data.Dataset.from_generator(lambda: rows({}), (tf.float32, tf.float32)).batch(8)\n"
    text = plan_of(
        HEAD
        + function
        + "train = "
        + made.format("(0, 48)")
        + "test = "
        + made.format("(48, 64)")
        + "model.fit(train)\nmodel.evaluate(test)\n"
    ).text
    assert "def rows(part, share=lambda numbers: numbers):\n    for i in share(range(*part)):\n" in text
    assert "from_generator(lambda: rows((0, 48), share=shard), " in text
    assert "from_generator(lambda: rows((48, 64)), " in text


def test_where_the_dataset_is_made_for_evaluation_too() -> None:
    text = plan_of(
        HEAD
        + "def rows(part):\n    for i in range(*part):\n        yield x[i], y[i]\n"
        + "def made(part):\n    return tf.data.Dataset.from_generator(lambda: rows(part), (tf.float32, tf.float32))\n"
        + "model.fit(made((0, 48)).batch(8), validation_data=made((48, 64)).batch(8))\n"
    ).text
    assert "    for i in range(*part):\n" in text
    assert "model.fit(shard_stream(made((0, 48))).batch(8), validation_data=made((48, 64)).batch(8)" in text


def test_a_function_that_is_given_to_two_datasets_is_left() -> None:
    both = (
        DATASET + "model.evaluate(tf.data.Dataset.from_generator(rows, (tf.float32, tf.float32)).batch(8))\n"
    )
    text = text_of("i in range(len(x))", dataset=both)
    assert "    for i in range(len(x)):\n" in text
    assert "ds = shard_stream(" in text


def test_batches_that_are_kept_are_those_of_all_ranks() -> None:
    """With `batch = "global"` it is the batches that are divided."""
    from horovodize.distribute import distribute
    from horovodize.options import Options
    from horovodize.source import Document
    from horovodize.summary import summarize

    function = "def rows():\n    for i in range(len(x)):\n        yield x[i], y[i]\n"
    plan = distribute(summarize(Document(HEAD + function + DATASET)), Options(batch="global"))
    assert "in range(len(x)):" in getattr(plan, "text", "in range(len(x)):")
