"""The functions that distributed programs get: shares are disjoint, equally large, and interleave to what was divided."""

from __future__ import annotations

import types
from itertools import count, islice

import pytest

from ..dividing import helper

SIZES = (1, 2, 3, 4)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [4, 5, 7, 12, 13])
def test_shares_interleave_to_the_rows(size: int, rows: int) -> None:
    data = [(row, -row) for row in range(rows)]
    shares = [helper("shard", rank, size)(data) for rank in range(size)]
    assert {len(share) for share in shares} == {rows // size}
    assert [share[k] for k in range(rows // size) for share in shares] == data[: rows // size * size]


@pytest.mark.parametrize("size", SIZES)
def test_the_kth_batches_of_all_ranks_are_one_large_batch(size: int) -> None:
    batch, data = 3, list(range(12 * size))
    shares = [helper("shard", rank, size)(data) for rank in range(size)]
    for k in range(4):
        together = {row for share in shares for row in share[k * batch : (k + 1) * batch]}
        assert together == set(range(k * batch * size, (k + 1) * batch * size))


@pytest.mark.parametrize("kind", ["shard", "shard_batches"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_of_fewer_than_ranks_each_rank_takes_one(kind: str, count: int) -> None:
    """One step, whose rate is that of all ranks' batches; all of them on each rank would be more steps at that rate."""
    shares = [list(helper(kind, rank, 4)(range(count))) for rank in range(4)]
    assert {len(share) for share in shares} == {min(1, count)}
    assert {item for share in shares for item in share} == set(range(count))


@pytest.mark.parametrize("size", SIZES)
def test_ranges_stay_ranges_and_lists_lists(size: int) -> None:
    for rank in range(size):
        share = helper("shard", rank, size)(range(0, 50, 5))
        assert isinstance(share, range)
        assert len(share) == 10 // size
        assert share[0] == 5 * rank
        assert isinstance(helper("shard", rank, size)([1, 2, 3, 4]), list)


def test_one_process_keeps_everything() -> None:
    assert helper("shard", 0, 1)(list("abcdefg")) == list("abcdefg")
    assert list(helper("shard_batches", 0, 1)(iter("abc"))) == ["a", "b", "c"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("batches", [0, 1, 4, 7])
def test_batches_are_dealt_out_in_turn_and_a_rest_is_dropped(size: int, batches: int) -> None:
    shares = [list(helper("shard_batches", rank, size)(iter(range(batches)))) for rank in range(size)]
    if 0 < batches < size:
        return
    assert {len(share) for share in shares} == {batches // size}
    assert [share[k] for k in range(batches // size) for share in shares] == list(
        range(batches // size * size)
    )


def test_endless_generators_are_dealt_out_lazily() -> None:
    assert list(islice(helper("shard_batches", 1, 3)(count()), 3)) == [1, 4, 7]


class Letters:
    """A sequence of batches, as Keras knows them."""

    def __init__(self, letters: str) -> None:
        self.letters, self.epochs = letters, 0

    def __len__(self) -> int:
        return len(self.letters)

    def __getitem__(self, index: int) -> str:
        return self.letters[index]

    def on_epoch_end(self) -> None:
        self.epochs += 1


def sharded(letters: Letters, rank: int, size: int) -> list[str]:
    keras = types.SimpleNamespace(utils=types.SimpleNamespace(Sequence=object))
    made = helper("ShardedSequence", rank, size, tf=types.SimpleNamespace(keras=keras))(letters)
    made.on_epoch_end()
    return [made[i] for i in range(len(made))]


@pytest.mark.parametrize("size", SIZES)
def test_sequences_are_dealt_out_in_turn(size: int) -> None:
    letters = Letters("abcdefg")
    shares = [sharded(letters, rank, size) for rank in range(size)]
    assert {len(share) for share in shares} == {7 // size}
    assert [share[k] for k in range(7 // size) for share in shares] == list("abcdefg")[: 7 // size * size]
    assert letters.epochs == size


def test_a_sequence_shorter_than_the_ranks_still_has_a_batch() -> None:
    assert [sharded(Letters("ab"), rank, 3) for rank in range(3)] == [["a"], ["b"], ["a"]]


class Beginning:
    """Batches of an object that is its own iterator, and begins again whenever it is asked for one, or has come to the end."""

    def __init__(self, number: int, *, at_the_end: bool) -> None:
        self.number, self.at_the_end, self.at = number, at_the_end, 0

    def __iter__(self) -> Beginning:
        self.at = self.at if self.at_the_end else 0
        return self

    def __next__(self) -> int:
        if self.at == self.number:
            self.at = 0
            raise StopIteration
        self.at += 1
        return self.at - 1


@pytest.mark.parametrize("at_the_end", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_batches_of_an_object_that_begins_again_come_to_an_end(size: int, at_the_end: bool) -> None:
    for rank in range(size):
        batches = Beginning(8, at_the_end=at_the_end)
        whole = max(1, 8 // size)
        expected = [(rank + i * size) % 8 for i in range(whole)]
        for _ in range(2):
            assert list(islice(helper("shard_batches", rank, size)(batches), 20)) == expected
