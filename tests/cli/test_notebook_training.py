"""The script made of a notebook trains on two ranks, which end with the same weights."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent / "golden" / "notebook"
# Each rank tells its weights at the end, in a file of its own: what it prints is left to rank 0, and lines of several mix.
TOLD = """
with open(f"weights-{{hvd.rank()}}", "w") as file:
    file.write(str([w.tolist() for w in {}]))
"""


@pytest.mark.training
@pytest.mark.parametrize(
    ("name", "model"), [("clothes_colab", "model"), ("line_tape", "line"), ("old_format", "model")]
)
def test_ranks_end_alike(run, tmp_path: Path, tf_python: Path, name: str, model: str) -> None:
    assert run("distribute", str(GOLDEN / f"{name}.ipynb"), "--output", "train.py").status == 0
    script = tmp_path / "train.py"
    script.write_text(script.read_text() + TOLD.format(f"{model}.get_weights()"))
    command = [str(tf_python.parent / "horovodrun"), "-np", "2", str(tf_python), "train.py"]
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PATH": f"{tf_python.parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    weights = {path.name: path.read_text() for path in tmp_path.glob("weights-*")}
    assert weights.keys() == {"weights-0", "weights-1"}
    assert weights["weights-0"] == weights["weights-1"]
    assert "[1]<stdout>:epoch" not in done.stdout.lower()
