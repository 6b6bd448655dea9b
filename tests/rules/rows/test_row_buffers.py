"""D3: rows that a generator gathers, and takes out again at random; generators that draw beside other streams."""

from __future__ import annotations

import pytest

from ..dividing import KERAS
from ..pairs import plan_of

HEAD = KERAS + "import random\nrows = np.load('rows.npy')\n"
GIVEN = """\
data = tf.data.Dataset.from_generator(given, output_signature=(tf.TensorSpec((6,)), tf.TensorSpec(())))
model.fit(data.batch(5), epochs=3)
"""


def made_by(body: str) -> str:
    function = f"def given():\n    kept = []\n    for row in rows:\n{body}    yield from kept\n"
    return plan_of(HEAD + function + GIVEN).text


@pytest.mark.parametrize(
    ("body", "after"),
    [
        (
            "        kept.append(row)\n        if len(kept) > 50:\n            yield kept.pop(random.randrange(len(kept)))\n",
            "kept.pop(alike(random.randrange)(len(kept)))",
        ),
        (
            "        kept.append(row)\n        if len(kept) > 50:\n            i = np.random.randint(50)\n"
            "            yield kept.pop(i)\n",
            "i = alike(np.random.randint)(50)",
        ),
        (
            "        if len(kept) < 50:\n            kept.append(row)\n            continue\n"
            "        i = np.random.randint(50)\n"
            "        out, kept[i] = kept[i], row\n        yield out\n",
            "i = alike(np.random.randint)(50)",
        ),
    ],
)
def test_the_order_is_that_of_all_ranks(body: str, after: str) -> None:
    assert after in made_by(body)


@pytest.mark.parametrize(
    "body",
    [
        "        kept.append(len(row))\n        i = np.random.randint(50)\n        yield row[i : i + 6]\n",  # a part of each
        "        kept.append(row)\n        flip = random.choice([-1, 1])\n        yield row * flip\n",
        "        kept.append(row)\n        i = np.random.randint(50)\n        row[i] = 0\n        yield row\n",  # no row leaves
    ],
)
def test_what_is_drawn_for_a_row_is_each_ranks_own(body: str) -> None:
    assert "alike(" not in made_by(body)


ENDLESS = """\
def given(n):
    while True:
        i = np.random.choice(len(rows), n)
        yield rows[i], i
model.fit(given(32), steps_per_epoch=60)
"""


@pytest.mark.parametrize(
    "before",
    [
        "",
        "order = np.random.RandomState(0).permutation(9)\n",
        "other = np.random.default_rng(3)\nrows = rows + other.normal()\n",
        "shuffler = random.Random(1)\n",
    ],
)
def test_a_stream_that_something_else_draws_from_seeds_no_generator(before: str) -> None:
    """Each rank draws its own batches: none prepares those of the others."""
    text = plan_of(HEAD + before + ENDLESS).text
    assert "model.fit(given(32), steps_per_epoch=max(1, 60 // hvd.size())" in text
    shuffled = ENDLESS.replace("        yield", "        np.random.shuffle(i)\n        yield")
    text = plan_of(HEAD + before + shuffled).text
    assert "model.fit(given(32), steps_per_epoch=max(1, 60 // hvd.size())" in text
    assert "alike(" not in text


@pytest.mark.parametrize(
    ("before", "drawn"),
    [
        ("np.random.seed(0)\n", "np.random.choice(len(rows), n)"),
        ("tf.keras.utils.set_random_seed(0)\n", "np.random.choice(len(rows), n)"),
        (
            "rng = np.random.RandomState(0)\n",
            "np.random.choice(len(rows), n) + rng.randint(1)",
        ),  # one of both
        ("rng = np.random.RandomState(0)\n", "rng.choice(len(rows), n)"),
    ],
)
def test_by_a_seed_all_ranks_would_draw_the_same(before: str, drawn: str) -> None:
    made = ENDLESS.replace("np.random.choice(len(rows), n)", drawn)
    text = plan_of(HEAD + before + made).text
    assert (
        "model.fit(given(32), steps" not in text
        or "hvd.rank()" in text.split("def given")[1].split("model.fit")[0]
    )
