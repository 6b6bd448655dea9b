"""Context managers of a script's own, which let ranks wait before the block of a `with` or after it."""

from __future__ import annotations

import pytest

from .helpers import codes

LOADED = """\
import contextlib

import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
MADE

with ENTERED:
    rows = tf.keras.datasets.mnist.load_data()
"""
BY_GENERATOR = """\
@contextlib.contextmanager
def rank_0_first():
    if hvd.rank() != 0:
        hvd.barrier()
    yield
    if hvd.rank() == 0:
        hvd.barrier()
"""
IN_A_TRY = """\
@contextlib.contextmanager
def rank_0_first(rank):
    if rank != 0:
        hvd.allreduce(tf.zeros(()), name="first")
    try:
        yield
    finally:
        if rank == 0:
            hvd.allreduce(tf.zeros(()), name="first")
"""
BY_CLASS = """\
class RankZeroFirst:
    def __enter__(self):
        if hvd.rank():
            hvd.barrier()

    def __exit__(self, *failed):
        if not hvd.rank():
            hvd.barrier()
"""
TIMED = """\
@contextlib.contextmanager
def timed(name):
    yield
    print(name)
"""
TOO_LATE = """\
@contextlib.contextmanager
def timed(name):
    yield
    hvd.barrier()
"""


@pytest.mark.parametrize(
    ("made", "entered"),
    [
        (BY_GENERATOR, "rank_0_first()"),
        (BY_GENERATOR, "open('log.txt'), rank_0_first()"),
        (IN_A_TRY, "rank_0_first(hvd.rank())"),
        (BY_CLASS, "RankZeroFirst()"),
        (BY_CLASS + "first = RankZeroFirst()", "first"),
    ],
)
def test_rank_0_downloads_first(made: str, entered: str) -> None:
    text = LOADED.replace("MADE", made).replace("ENTERED", entered)
    assert not codes(text) & {"HVD313", "HVD331", "HVD332"}


@pytest.mark.parametrize(
    ("made", "entered"), [(TIMED, "timed('rows')"), (TOO_LATE, "timed('rows')"), ("", "tf.device('/cpu:0')")]
)
def test_all_download_at_once(made: str, entered: str) -> None:
    assert "HVD332" in codes(LOADED.replace("MADE", made).replace("ENTERED", entered))


@pytest.mark.parametrize("made", [BY_GENERATOR, BY_CLASS.replace("RankZeroFirst", "rank_0_first")])
def test_rank_0_waits_within_the_block(made: str) -> None:
    """Both sides of the context manager wait for the others; a third one in its block comes at another time on rank 0."""
    text = (
        LOADED.replace("MADE", made).replace("ENTERED", "rank_0_first()")
        + "    hvd.allreduce(tf.zeros(()))\n"
    )
    assert "HVD331" in codes(text)
