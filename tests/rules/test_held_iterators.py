"""Iterators that a list or dictionary holds: they have no shard of their own, and are asked for batches one by one."""

from __future__ import annotations

import pytest

from .dividing import KERAS
from .pairs import plan_of

HEAD = KERAS + "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9, seed=1).batch(4)\n"
LOOP = "for i in range(400):\n    x, y = {}\n    model.train_on_batch(x, y)\n"
NOTE = "this pipeline can't be divided where it is made: every rank trains on all of it"


@pytest.mark.parametrize(
    ("made", "drawn", "after"),
    [
        (
            "held = [iter(ds.repeat()), iter(ds)]\n",
            "next(held[0])",
            "held = [iter(ds.repeat().shard(hvd.size(), hvd.rank())), iter(ds)]",
        ),
        (
            "held = (iter(ds.repeat()), iter(ds))\n",
            "next(held[1])",
            "held = (iter(ds.repeat()), iter(shard_dataset(ds)))",
        ),
        (
            "held = [iter(ds), iter(ds)]\n",
            "next(held[i % 2])",
            "held = [iter(shard_dataset(ds)), iter(shard_dataset(ds))]",
        ),
        ("held = {'a': iter(ds.repeat())}\n", "next(held['a'])", ".shard(hvd.size(), hvd.rank())"),
        ("held = {}\nheld['a'] = iter(ds.repeat())\n", "next(held['a'])", ".shard(hvd.size(), hvd.rank())"),
    ],
)
def test_an_iterator_is_divided_where_it_is_made(made: str, drawn: str, after: str) -> None:
    """A helper for data sets around `held[0]` would crash."""
    text = plan_of(HEAD + made + LOOP.format(drawn)).text
    assert after in text
    assert f"x, y = {drawn}" in text
    assert "for i in range(400 // hvd.size()):" in text


@pytest.mark.parametrize(
    ("made", "drawn"),
    [
        ("held = [iter(d) for d in (ds, ds.repeat())]\n", "next(held[0])"),
        ("held = {n: iter(ds.repeat()) for n in names}\n", "next(held['a'])"),
        ("held = {}\nfor n in names:\n    held[n] = iter(ds.repeat())\n", "next(held['a'])"),
    ],
)
def test_else_it_is_asked_for_the_batches_of_all_ranks(made: str, drawn: str) -> None:
    text = plan_of(HEAD + made + LOOP.format(drawn)).text
    assert f"[{drawn} for _ in range(hvd.size())][hvd.rank()]" in text
    assert "shard_stream(" not in text


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("held = [ds, ds.repeat()]\nfor x, y in held[0]:\n", "in shard_"),
        (
            "held = iter(ds.repeat())\nfor i in range(9):\n    x, y = next(held)\n",
            ".shard(hvd.size(), hvd.rank())",
        ),
    ],
)
def test_data_sets_and_iterators_by_a_name_are_divided(made: str, after: str) -> None:
    assert after in plan_of(HEAD + made + "    model.train_on_batch(x, y)\n").text


MADE = "held = {}\nfor name in ('a', 'b'):\n    held[name] = iter(ds.repeat())\n"


def test_each_rank_takes_its_own_of_every_iterator() -> None:
    """One of both asked by its method was left alone: half of each batch was the same on all ranks."""
    body = "for i in range(400):\n    x, y = next(held['a'])\n    v, w = held['b'].get_next()\n"
    text = plan_of(
        HEAD + MADE + body + "    model.train_on_batch(np.concatenate([x, v]), np.concatenate([y, w]))\n"
    ).text
    assert "[next(held['a']) for _ in range(hvd.size())][hvd.rank()]" in text
    assert "[held['b'].get_next() for _ in range(hvd.size())][hvd.rank()]" in text


@pytest.mark.parametrize(
    "shown",
    [
        "valid['a'].get_next()\n",  # to measure by
        "counter.get_next(i)\n",
    ],
)
def test_what_is_got_otherwise_stays(shown: str) -> None:
    text = plan_of(HEAD + MADE + LOOP.format("next(held['b'])") + f"    {shown}").text
    assert shown.strip() in text.replace("if hvd.rank() == 0:", "")
