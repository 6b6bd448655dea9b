"""Folds that ranks leave out by a file that each looks for, and what sets the epoch with which a rank begins."""

from __future__ import annotations

import pytest

from .helpers import codes, violations

FOLDS = """\
import os
from pathlib import Path
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
for fold in range(5):
    if ASKED:
        LEFT
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
    model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
    if hvd.rank() == 0:
        model.save_weights(f"{fold}.h5")
"""


@pytest.mark.parametrize(
    ("asked", "left", "hangs"),
    [
        ('os.path.exists(f"{fold}.h5")', "continue", True),
        ('Path(f"{fold}.h5").exists()', "continue", True),
        ('hvd.broadcast_object(os.path.exists(f"{fold}.h5"), root_rank=0)', "continue", False),
        ('os.path.exists(f"{fold}.h5")', "print(fold)", False),
        ('not os.path.exists("rows.csv")', "raise FileNotFoundError", False),
        ("fold in skipped", "continue", False),
        ("fold == 3", "continue", False),
    ],
)
def test_folds_that_are_left_out(asked: str, left: str, hangs: bool) -> None:
    assert ("HVD331" in codes(FOLDS.replace("ASKED", asked).replace("LEFT", left))) == hangs


BACKED_UP = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
callbacks += BACKUP
model.fit(x, y, callbacks=callbacks)
"""


@pytest.mark.parametrize(
    ("backup", "found"),
    [
        ('[tf.keras.callbacks.BackupAndRestore("backup")] if hvd.rank() == 0 else []', {"HVD311"}),
        ('[tf.keras.callbacks.BackupAndRestore("backup")]', {"HVD314"}),
        ('[tf.keras.callbacks.BackupAndRestore(f"backup-{hvd.rank()}")]', set()),
        ('[tf.keras.callbacks.ModelCheckpoint("best.h5")] if hvd.rank() == 0 else []', set()),
    ],
)
def test_backups(backup: str, found: set[str]) -> None:
    assert codes(BACKED_UP.replace("BACKUP", backup)) & {"HVD311", "HVD314"} == found


def test_each_rank_is_to_back_up_into_a_folder_of_its_own() -> None:
    text = BACKED_UP.replace("BACKUP", '[tf.keras.callbacks.BackupAndRestore("backup")]')
    (violation,) = violations(text, "HVD314")
    assert "folder of its own" in violation.message
    assert not [fix for fix in violation.fixes if fix]


PREPARED = """\
import os
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def prepare(folder):
    if ASKED:
        LEFT
    if hvd.rank() == 0:
        os.makedirs(folder)
    WAIT


prepare("rows")
"""


@pytest.mark.parametrize(
    ("asked", "left", "waits", "found"),
    [
        ("os.path.isdir(folder)", "return", "hvd.barrier()", True),
        ("hvd.size() > 1 and os.path.exists('rows')", "return None", "hvd.allreduce(tf.zeros(1))", True),
        ("os.path.isdir(folder)", "print(folder)", "hvd.barrier()", False),
        ("os.path.isdir('others')", "return", "hvd.barrier()", False),
        ("os.path.isdir(folder)", "return", "pass", False),
        ("hvd.broadcast_object(os.path.isdir(folder))", "return", "hvd.barrier()", False),
    ],
)
def test_a_wait_that_is_left_out_by_what_another_rank_makes(
    asked: str, left: str, waits: str, found: bool
) -> None:
    text = PREPARED.replace("ASKED", asked).replace("LEFT", left).replace("WAIT", waits)
    assert ("HVD332" in codes(text)) == found
