"""`horovodize run` with the real TensorFlow and Horovod."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = [pytest.mark.training, pytest.mark.timeout(300)]
# Rank 0 writes what it printed and the weights; the others only show that they are there.
TRAINED = """\
import numpy as np
import tensorflow as tf

x = np.random.default_rng(1).normal(size=(64, 4)).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
model.fit(x, x @ np.ones((4, 1), "float32"), batch_size=8, epochs=2, verbose=2)
model.save_weights("line.weights.h5")
"""


def run(script: str, *options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    python = os.environ.get("HOROVODIZE_TF_PYTHON")
    if not python:
        pytest.fail("HOROVODIZE_TF_PYTHON is not set: run through `make test` (or `make training`)")
    return subprocess.run(
        [sys.executable, "-m", "horovodize", "run", "-np", "2", "--python", python, *options, script],
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )


def test_a_script_trains(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINED)
    done = run("train.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    epochs = [line for line in done.stdout.splitlines() if "loss:" in line]
    assert len(epochs) == 2  # of rank 0
    assert all(line.startswith("[0] 4/4 - ") for line in epochs)  # 64 rows, 2 ranks, batches of 8
    assert "train.py: trained on 2 ranks in" in done.stderr
    assert (tmp_path / "train.py").read_text() == TRAINED
    assert (tmp_path / "line.weights.h5").is_file()


def test_an_error_in_a_function_of_tensorflow_is_in_the_users_line(tmp_path: Path) -> None:
    shutil.copy(HERE / "failing" / "shape_function.py", tmp_path)
    done = run("shape_function.py", folder=tmp_path)
    assert done.returncode == 1
    assert "shape_function.py:15: ValueError: Dimensions must be equal" in done.stderr
    assert "loss = tf.reduce_mean(tf.matmul(rows, weights) ** 2)" in done.stderr
    assert "start.py" not in done.stderr
