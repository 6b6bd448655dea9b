"""C6: files at temporary places, which each process gets for itself."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import os
import pathlib
import tempfile
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""
CHECKPOINT = "callbacks=[tf.keras.callbacks.ModelCheckpoint({}, save_best_only=True, save_weights_only=True)]"
READ = 'hvd.broadcast(0, root_rank=0, name="read")'


@pytest.mark.parametrize(
    ("source", "read"),
    [
        (
            'with tempfile.TemporaryDirectory() as folder:\n    path = os.path.join(folder, "best.h5")\n'
            f"    model.fit(x, y, {CHECKPOINT.format('path')})\n    model.load_weights(path)\n",
            f"    model.load_weights(hvd.broadcast_object(path))\n    {READ}",
        ),
        (
            "folder = tempfile.TemporaryDirectory()\n"
            'model.fit(x, y)\nmodel.save_weights(folder.name + "/w.h5")\nmodel.load_weights(folder.name + "/w.h5")\n',
            f'model.load_weights(hvd.broadcast_object(folder.name + "/w.h5"))\n{READ}',
        ),
        (
            'model.fit(x, y)\nwith tempfile.NamedTemporaryFile(suffix=".h5") as file:\n    model.save(file.name)\n'
            "    again = tf.keras.models.load_model(file.name)\n",
            f"    again = tf.keras.models.load_model(hvd.broadcast_object(file.name))\n    {READ}",
        ),
        (
            'model.fit(x, y)\nwith tempfile.TemporaryDirectory() as folder:\n    path = pathlib.Path(folder) / "w.h5"\n'
            "    model.save_weights(path)\n    model.load_weights(path)\n",
            f"    model.load_weights(hvd.broadcast_object(path))\n    {READ}",
        ),
    ],
)
def test_all_ranks_read_rank_0s_file_before_it_is_removed(source: str, read: str) -> None:
    """The others looked for it at places of their own, where nobody had written it."""
    text = (
        plan_of(HEAD + source)
        .text.replace("hvd_core.", "hvd.")
        .replace("  # wait until all ranks have read it", "")
    )
    assert read in text
    assert 'name="saved"' not in text


@pytest.mark.parametrize(
    "source",
    [
        'path = "w.h5"\nmodel.fit(x, y)\nmodel.save_weights(path)\nmodel.load_weights(path)\n',
        'with tempfile.TemporaryDirectory() as folder:\n    model.fit(x, y)\n    model.save_weights(folder + "/w.h5")\n',
        'with tempfile.TemporaryDirectory() as folder:\n    np.save(folder + "/x.npy", x)\nmodel.fit(x, y)\n',
    ],
)
def test_what_nobody_reads_there_stays(source: str) -> None:
    assert "broadcast_object(" not in plan_of(HEAD + source).text


def test_where_not_all_ranks_read_it_is_said() -> None:
    source = (
        "model.fit(x, y)\nwith tempfile.TemporaryDirectory() as folder:\n    model.save_weights(folder + '/w.h5')\n"
        "    if np.random.rand() < 0.5:\n        model.load_weights(folder + '/w.h5')\n"
    )
    assert any("a temporary place of its own" in n.message for n in plan_of(HEAD + source).notes)
