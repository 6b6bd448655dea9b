"""`horovodize doctor` under a real TensorFlow and Horovod, and the check of two ranks where Horovod averages nothing; then a
command of `horovodize launch` that really runs on two hosts, as far as one machine has them: two of its names."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from horovodize.diagnosing import diagnose
from horovodize.diagnosing.interpreter import INSIDE
from horovodize.diagnosing.two_ranks import judge
from horovodize.launching import Job, prepare
from horovodize.launching.hosts import parse
from tests.training.running import python, train

pytestmark = [pytest.mark.training, pytest.mark.timeout(300)]


def test_an_environment_that_trains_is_right() -> None:
    found = diagnose(str(python()))
    assert found.ok, found.text
    said = found.text
    assert "a step with DistributedGradientTape from different data: equal weights" in said
    assert "a step of fit from different data: equal weights" in said
    assert "controllers  Gloo" in said


BROKEN = """
def install():
    import horovod.tensorflow
    import horovod.tensorflow.keras
    class Tape:
        def __init__(self, tape): self.tape = tape
        def __enter__(self): self.tape.__enter__(); return self.tape
        def __exit__(self, *error): return self.tape.__exit__(*error)
    horovod.tensorflow.DistributedGradientTape = Tape
    horovod.tensorflow.keras.DistributedOptimizer = lambda optimizer: optimizer
"""


@pytest.mark.parametrize("broken", [False, True])
def test_a_horovod_that_averages_nothing_is_found(broken: bool, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(BROKEN if broken else "def install(): pass\n")
    folder = tmp_path / "run"
    outcome = train(INSIDE / "inside_two_ranks.py", folder, ranks=2, args=[str(folder)], before=hook)
    assert outcome.complete, outcome.why()
    reports = [json.loads(path.read_text()) for path in sorted(folder.glob("rank-*.json"))]
    lines = list(judge(reports))
    assert [line.state.value for line in lines] == ["problem" if broken else "ok"] * 2, lines
    assert all("nothing is averaged" in line.text for line in lines) is broken


SCRIPT = """
import os, sys
import horovod.tensorflow as hvd
import tensorflow as tf
hvd.init()
total = float(hvd.allreduce(tf.constant(hvd.rank() + 1.0), op=hvd.Sum))
with open(f"rank-{hvd.rank()}", "w") as file:
    print(hvd.size(), hvd.local_size(), hvd.cross_size(), total, sys.argv[1:], file=file)
"""


def test_the_command_for_two_hosts_runs_on_both(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    job = Job(
        "train.py",
        2,
        str(tmp_path),
        ("--name", "a b"),
        tuple(parse("localhost:1,127.0.0.1:1")),
        binaries=str(python().parent),
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(["/bin/sh", "-c", prepare("horovodrun", job).command], cwd=tmp_path, capture_output=True, text=True,
                          timeout=200, check=False, env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / f"rank-{rank}").read_text() for rank in (0, 1)] == [
        "2 1 2 3.0 ['--name', 'a b']\n"
    ] * 2
