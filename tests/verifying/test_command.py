"""`horovodize verify` where nothing can be trained: exit status 2, and why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from horovodize.cli import main

SCRIPT = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(tf.zeros((640, 2)), tf.zeros((640, 1)))
"""


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["verify", *arguments]) == 2
    return capsys.readouterr().err


def test_what_can_not_be_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, other = tmp_path / "train.py", tmp_path / "other.py"
    script.write_text(SCRIPT)
    other.write_text("print('nothing')\n")
    assert "nothing to verify" in said(capsys, str(other), "--python", sys.executable)
    other.write_text("import horovod.tensorflow.keras as hvd\n" + SCRIPT)
    distributed = said(capsys, str(other), "--python", sys.executable)
    assert "uses Horovod already; nothing to verify" in distributed
    assert "verify before.py --distributed" in distributed
    assert "there is no Python" in said(capsys, str(script), "--python", str(tmp_path / "none"))
    assert "No such file" in said(capsys, str(tmp_path / "none.py"), "--python", sys.executable)
    script.write_text("import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\n" + SCRIPT)
    assert "can't be distributed, so there is nothing to verify" in said(
        capsys, str(script), "--python", sys.executable
    )


def test_a_script_that_does_not_train_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text("raise SystemExit(3)\n" + SCRIPT)
    told = said(capsys, str(script), "--python", sys.executable)
    assert "doesn't train alone: it fails: SystemExit: 3" in told


def test_where_it_fails_or_does_not_end_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text("def read():\n    raise KeyError('rows')\n\n\nread()\n" + SCRIPT)
    told = said(capsys, str(script), "--python", sys.executable)
    assert "doesn't train alone: it fails (train.py:2): KeyError: 'rows'" in told
    script.write_text("import time\ntime.sleep(60)\n" + SCRIPT)
    told = said(capsys, str(script), "--python", sys.executable, "--limit", "2")
    assert "doesn't end within the time limit (train.py:2): raise --limit" in told


@pytest.mark.parametrize("option", ["-o", "--report"])
@pytest.mark.parametrize(("path", "why"), [("none/report.html", "No such file"), (".", "Is a directory")])
def test_where_a_report_can_not_be_written_is_said_first(
    option: str, path: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    told = said(capsys, str(script), option, str(tmp_path / path), "--python", sys.executable)
    assert why in told
    assert "training alone" not in told


@pytest.mark.parametrize("sizes", ["0", "two", "1,,2"])
def test_numbers_of_ranks(sizes: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["verify", "train.py", "-np", sizes])
    assert stopped.value.code == 2
