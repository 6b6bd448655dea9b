"""Generators that draw their batches: each rank asks its own, where that is the same training; else they are dealt out."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

HEAD = TAPE + "import itertools, random\nx, y = np.load('x.npy'), np.load('y.npy')\n"
DRAWS = (
    "def drawn():\n    while True:\n        i = np.random.randint(0, len(x), 16)\n        yield x[i], y[i]\n"
)
NOISY = DRAWS.replace("    while", "    noise = np.random.RandomState(1)\n    while").replace(
    "y[i]", "y[i] + noise.normal()"
)
ENDED = "for k, (a, b) in enumerate({}):\n    step(a, b)\n    if k >= 1000:\n        break\n"
ROWS = "ds = tf.data.Dataset.from_generator(drawn, output_types=(tf.float32, tf.float32))"


def divided(text: str) -> str:
    return plan_of(HEAD + text).text


@pytest.mark.parametrize(
    ("loop", "after"),
    [
        (ENDED.format("drawn()"), "if k >= 1000 // hvd.size():"),
        (
            "for k, (a, b) in zip(range(1000), drawn()):\n    step(a, b)\n",
            "zip(range(1000 // hvd.size()), drawn()):",
        ),
        (
            "for a, b in itertools.islice(drawn(), 1000):\n    step(a, b)\n",
            "islice(drawn(), 1000 // hvd.size()):",
        ),
    ],
)
def test_no_batch_is_drawn_to_be_thrown_away(loop: str, after: str) -> None:
    text = divided(DRAWS + loop)
    assert after in text
    assert "shard" not in text


def test_turns_that_each_draw_are_divided_where_they_are_counted() -> None:
    text = divided(
        DRAWS.replace("()", "(n)").replace("while True", "for _ in range(n)")
        + "for a, b in drawn(800):\n    step(a, b)\n"
    )
    assert "for _ in shard(range(n)):" in text
    assert "in drawn(800):" in text


def test_a_seed_of_other_draws_fixes_none() -> None:
    """Neither a generator with a seed that made the rows, nor a library's that doesn't draw here."""
    for seed in ("z = np.random.RandomState(0).rand(9)\n", "tf.random.set_seed(1)\n", "random.seed(3)\n"):
        assert "shard" not in divided(seed + DRAWS + ENDED.format("drawn()"))


@pytest.mark.parametrize(
    "draws",
    [
        "np.random.seed(1)\n" + DRAWS,
        DRAWS.replace("(0, len(x), 16)\n", "(0, len(x), 16)\n        if i.sum() == 0:\n            return\n"),
        DRAWS.replace("(0, len(x), 16)\n", "(0, len(x), 16)\n        if i.sum() == 0:\n            break\n"),
        "rng = np.random.RandomState(3)\n" + DRAWS.replace("np.random.randint", "rng.randint"),
        DRAWS.replace("np.random.randint", "mine.rng.randint"),
        "np.random.seed(1)\n" + NOISY,
        "def drawn():\n    while True:\n        for i in range(0, 99, 16):\n"
        "            yield [x[i:i + 16] + np.random.rand(), y[k]]\n",
    ],
    ids=["seeded", "returns", "breaks", "a stream", "not seen", "rows by a seed", "rows in order"],
)  # fmt: skip
def test_what_may_be_the_same_on_all_ranks_is_dealt_out(draws: str) -> None:
    assert "shard" in divided("import mine\n" + draws + ENDED.format("drawn()"))


def test_all_that_a_seed_fixes_is_drawn_apart() -> None:
    text = divided(NOISY + ENDED.format("drawn()"))
    assert "np.random.RandomState(1 + hvd.rank())" in text
    assert "shard" not in text


@pytest.mark.parametrize(
    "draws",
    [
        DRAWS.replace("    while", "    n = 0\n    while").replace("yield x", "n += 1\n        yield n, x"),
        DRAWS.replace("while True", "for n in itertools.count()").replace("yield x", "yield n, x"),
        "def drawn():\n    epoch = 0\n    while True:\n        for _ in range(100):\n"
        "            i = np.random.randint(0, 9, 4)\n            yield epoch, x[i], y[i]\n        epoch += 1\n",
    ],
)
def test_one_that_tells_its_turns_is_dealt_out(draws: str) -> None:
    """Asked size() times less often, it would tell each rank another number than alone."""
    assert "in shard_batches(drawn()):" in divided(
        draws + "for n, a, b in drawn():\n    step(a, b)\n    if n > 800:\n        break\n"
    )


def test_numbers_that_count_without_end_are_those_of_all_ranks() -> None:
    draws = DRAWS.replace("while True", "for n in itertools.count()").replace("yield x", "yield n, x")
    text = divided(
        draws
        + "for n, a, b in drawn():\n    step(a, b)\n    if n % 50 == 0:\n        model.save_weights('w')\n"
    )
    assert "if (hvd.rank() - n) % 50 < hvd.size():" in text


def test_rows_that_each_rank_draws_end_with_its_share() -> None:
    """It was left as it was: size() times the steps, each at size() times the rate."""
    text = divided(DRAWS.replace(", 16", "") + ROWS + ".batch(16)\n" + ENDED.format("ds"))
    assert "if k >= 1000 // hvd.size():" in text
    assert "shard" not in text


def test_orders_that_each_rank_draws_stay_its_own() -> None:
    """Of one order, and not divided, all ranks would train on the same batches, also where other data are divided."""
    orders = (
        "def drawn():\n    while True:\n        for k in np.random.permutation(9):\n            rows = np.load(f'{k}.npy')\n"
        "            for i in range(4):\n                yield rows[i, :4], rows[i, 4:]\n"
    )
    other = (
        "other = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)\nfor a, b in other:\n    step(a, b)\n"
    )
    for loop in (ENDED.format("drawn()"), ROWS + ".batch(16)\n" + ENDED.format("ds")):
        text = divided(orders + loop + other)
        assert "alike(" not in text
        assert "broadcast_object" not in text
        assert "if k >= 1000 // hvd.size():" in text
