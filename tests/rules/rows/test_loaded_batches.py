"""`tfds.load(name, batch_size=32)` gives batches: those are dealt to the ranks (D1)."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

HEAD = TF + "import tensorflow_datasets as tfds\n"
TRAIN = "model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\nmodel.fit({fed})\n"
ONE = "data = tfds.load('m', as_supervised=True, batch_size=32)\n"
PAIR = "train, test = tfds.load('m', split=['train', 'test'], as_supervised=True, batch_size=size)\n"


@pytest.mark.parametrize(
    ("loaded", "fed", "divided"),
    [
        (ONE, "data['train']", "model.fit(shard_records(data['train']),"),
        (PAIR, "train", "model.fit(shard_records(train),"),
        (PAIR, "train.map(f).prefetch(1)", "model.fit(shard_records(train).map(f).prefetch(1),"),
    ],
)
def test_batches_are_dealt_and_the_rate_goes_with_them(loaded: str, fed: str, divided: str) -> None:
    text = plan_of(HEAD + loaded + TRAIN.format(fed=fed)).text
    assert divided in text
    assert "SGD(0.1 * hvd.size())" in text


def test_there_may_be_fewer_batches_than_ranks() -> None:
    """Keras 3's version of the data set knows how many rows there are, and not that there are enough batches."""
    text = plan_of(HEAD + PAIR + TRAIN.format(fed="train"), tensorflow="2.18").text
    share = "train.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(train) // hvd.size()))"
    assert f"model.fit({share}," in text


def test_a_batch_is_divided_where_it_is_to_stay_one_of_all_ranks() -> None:
    text = plan_of(HEAD + PAIR + TRAIN.format(fed="train"), batch="global").text
    assert "model.fit(share_batches(train)," in text


@pytest.mark.parametrize("size", ["-1", "ALL"])
def test_arrays_of_all_rows_are_rows(size: str) -> None:
    loaded = f"ALL = -1\nx, y = tfds.load('m', split='train', as_supervised=True, batch_size={size})\n"
    text = plan_of(HEAD + loaded + TRAIN.format(fed="x, y")).text
    assert "model.fit(shard(x), shard(y)," in text or "model.fit(x[share], y[share]," in text
