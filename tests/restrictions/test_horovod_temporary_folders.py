"""Files that rank 0 writes into a temporary folder of its own, and the others look for in theirs."""

from __future__ import annotations

import pytest

from .helpers import codes

TEXT = """\
import os
import pickle
import tempfile

import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
folder = MADE
path = os.path.join(folder, "rows.npy")
if WRITES:
    np.save(path, prepare())
hvd.barrier()
READ
"""


@pytest.mark.parametrize(
    ("made", "writes", "read", "found"),
    [
        ("tempfile.mkdtemp()", "hvd.rank() == 0", "rows = np.load(path)", True),
        (
            "tempfile.mkdtemp(prefix='rows')",
            "not hvd.rank()",
            "with open(path, 'rb') as f:\n    f.read()",
            True,
        ),
        ("tempfile.TemporaryDirectory().name", "hvd.local_rank() == 0", "rows = np.load(path)", True),
        ("tempfile.mkdtemp()", "True", "rows = np.load(path)", False),
        ("tempfile.mkdtemp()", "hvd.rank() == 0", "if hvd.rank() == 0:\n    rows = np.load(path)", False),
        ("tempfile.mkdtemp()", "hvd.rank() == 0", "rows = np.load('rows.npy')", False),
        ("hvd.broadcast_object(tempfile.mkdtemp())", "hvd.rank() == 0", "rows = np.load(path)", False),
        ("tempfile.mkdtemp() if hvd.rank() == 0 else '.'", "hvd.rank() == 0", "rows = np.load(path)", False),
        ("tempfile.gettempdir()", "hvd.rank() == 0", "rows = np.load(path)", False),
    ],
)
def test_what_only_rank_0_writes_into_its_own_folder(made: str, writes: str, read: str, found: bool) -> None:
    text = TEXT.replace("MADE", made).replace("WRITES", writes).replace("READ", read)
    assert ("HVD332" in codes(text)) == found
