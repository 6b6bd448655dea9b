"""C5, G4: loops whose turns begin their data again and take the first batch, the same on all ranks unless it is drawn."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = (
    TAPE
    + "import helpers\na, b = np.load('x.npy'), np.load('y.npy')\nrows = tf.data.Dataset.from_tensor_slices((a, b))\n"
)
LOOP = "for i in range(1000):\n    x, y = {}\n    step(x, y)\n"
ONE = "this takes one step each time"


def doubts(text: str) -> str:
    return " ".join(c.doubt for c in plan_of(text).to_confirm)


def is_asked(text: str) -> bool:
    return any(said in doubts(text) for said in ("begins these data again", "are given the same rows here"))


@pytest.mark.parametrize(
    "made",
    [
        "data = rows.shuffle(1000, seed=1).batch(8)",
        "data = rows.shuffle(1000, 1).batch(8)",
        "tf.random.set_seed(7)\ndata = rows.shuffle(1000).batch(8)",
        "data = rows.map(lambda p, q: (p + tf.random.normal([4]), q)).shuffle(1000, seed=1).batch(8)",  # draws no rows
        "data = rows.batch(8)",
        "data = helpers.load(8)",
        "data = helpers.Loader('x').batches",
        "def load():\n    return rows.shuffle(1000, seed=1).batch(8)\ndata = load()",
        "data = tf.data.Dataset.list_files('*.png', shuffle=False).map(read).batch(8)",
        "def made():\n    for k in range(90):\n        yield a[k], b[k]\n"
        "data = tf.data.Dataset.from_generator(made, (tf.float32, tf.float32)).shuffle(9, seed=1).batch(8)",
    ],
)
@pytest.mark.parametrize("taken", ["next(iter(data))", "iter(data).get_next()"])
def test_a_first_batch_that_may_be_the_same_is_asked_about(made: str, taken: str) -> None:
    assert is_asked(f"{HEAD}{made}\n{LOOP.format(taken)}")


def test_in_a_function_that_is_given_the_data() -> None:
    told = (
        "def train(data):\n    for i in range(1000):\n        x, y = next(iter(data))\n        step(x, y)\n"
    )
    assert is_asked(f"{HEAD}{told}train(rows.shuffle(1000, seed=1).batch(8))\n")
    assert not is_asked(f"{HEAD}{told}train(rows.shuffle(1000).batch(8))\n")


@pytest.mark.parametrize(
    ("made", "taken"),
    [
        ("data = rows.shuffle(1000).batch(8)", "next(iter(data))"),  # each rank draws its own
        ("data = rows.shuffle(1000, seed=None).batch(8)", "next(iter(data))"),
        ("data = tf.data.Dataset.list_files('*.png').map(read).batch(8)", "next(iter(data))"),
        (
            "def made():\n    while True:\n        k = np.random.randint(0, 90, 8)\n        yield a[k], b[k]",
            "next(iter(made()))",
        ),
        ("data = iter(helpers.load(8))", "next(data)"),  # goes on from turn to turn
        ("data = helpers.load(8)", "next(data)"),
        ("data = rows.batch(8)", "next(iter(rows.shuffle(9).batch(8)))"),
    ],
)
def test_what_is_drawn_or_goes_on_is_not(made: str, taken: str) -> None:
    assert not is_asked(f"{HEAD}{made}\n{LOOP.format(taken)}")


def test_a_look_at_other_rows_is_not() -> None:
    looked = "data = rows.shuffle(99, seed=1).batch(8)\nfor i in range(1000):\n    k = np.random.randint(0, 90, 8)\n"
    looked += "    step(a[k], b[k])\n    if i % 100 == 0:\n        print(model(next(iter(data))[0]))\n"
    assert not is_asked(HEAD + looked)


@pytest.mark.parametrize("loop", ["for x, y in data.take({}):", "for k, (x, y) in enumerate(data.take({})):"])
def test_one_batch_of_data_that_are_not_seen_is_asked_about(loop: str) -> None:
    around = "data = helpers.load()\nfor i in range(1000):\n    {}\n        step(x, y)\n"
    assert ONE in doubts(HEAD + around.format(loop.format(1)))
    assert ONE not in doubts(HEAD + around.format(loop.format(400)))
