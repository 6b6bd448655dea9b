"""Keras 3 under real Horovod: our module by itself, and programs that are distributed for it. Not part of `make test`:

scripts/horovod.sh 2.21.0
HOROVODIZE_KERAS3_PYTHON=.venv-horovod-2.21.0/bin/python pytest -m keras3 tests/training/keras3"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from horovodize import runtime
from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

pytestmark = [pytest.mark.keras3, pytest.mark.timeout(900)]
HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))


def train(folder: Path, *arguments: str, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    """Runs a script on some ranks in a folder; with one, without horovodrun."""
    named = os.environ.get("HOROVODIZE_KERAS3_PYTHON")
    if not named:
        pytest.fail(
            "HOROVODIZE_KERAS3_PYTHON names no Python: scripts/horovod.sh 2.21.0 makes one", pytrace=False
        )
    binaries = Path(named).absolute().parent
    removed = ("PYTHONPATH", "VIRTUAL_ENV")
    environment = {**{k: v for k, v in os.environ.items() if k not in removed}, "TF_CPP_MIN_LOG_LEVEL": "3",
                   "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "",
                   "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "120"}  # fmt: skip
    start = ["horovodrun", "-np", str(ranks), "--gloo"] if ranks > 1 else []
    return subprocess.run(
        [*start, "python", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )


def made_for(version: str, program: Path, folder: Path) -> Path:
    """A program distributed for a TensorFlow ("" where it is not known), in a folder with what has to stand beside it."""
    options = Options(tensorflow=version)
    plan = distribute(summarize(Document(program.read_text(encoding="utf-8"), program.name)), options)
    assert isinstance(plan, Plan), plan
    script = folder / program.name
    script.write_text(plan.text, encoding="utf-8")
    for name in plan.beside:
        (folder / name).write_text(runtime.text_of(name), encoding="utf-8")
    return script


def test_the_module(tmp_path: Path) -> None:
    (tmp_path / runtime.KERAS_3).write_text(runtime.text_of(runtime.KERAS_3), encoding="utf-8")
    run = train(tmp_path, str(HERE / "module_cases.py"), str(tmp_path))
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    found = [json.loads(line.partition(":")[2]) for line in run.stdout.splitlines() if '"case"' in line]
    assert len(found) == 18
    assert [case for case in found if case["spread"] != 0 or (case["parity"] or 0) > 2e-6] == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_trains_alike_on_all_ranks(program: Path, tmp_path: Path) -> None:
    script = made_for("2.18", program, tmp_path)
    run = train(tmp_path, str(HERE / "digest.py"), str(script), str(tmp_path / "digest"))
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    digests = [(tmp_path / f"digest.{rank}").read_text(encoding="utf-8") for rank in range(2)]
    assert digests[0] == digests[1]


@pytest.mark.parametrize("name", ["fit", "on_batch"])
def test_what_is_made_for_an_unknown_version_stops(name: str, tmp_path: Path) -> None:
    script = made_for("", HERE / "programs" / f"{name}.py", tmp_path)
    run = train(tmp_path, script.name)
    assert run.returncode != 0
    assert "RuntimeError: Keras 3 would average nothing here" in run.stdout + run.stderr
    assert "loss" not in run.stdout


def test_without_the_guard_it_would_not_average(tmp_path: Path) -> None:
    """Why there is a guard: Horovod's own optimizer under Keras 3."""
    (tmp_path / "stock.py").write_text(
        "import os, numpy as np, keras, horovod.tensorflow.keras as hvd\n"
        "hvd.init()\nx = np.random.RandomState(hvd.rank()).randn(64, 4)\nkeras.utils.set_random_seed(0)\n"
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])\n"
        "model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.1)), 'mse', jit_compile=False)\n"
        "model.fit(x, x.sum(1), verbose=0)\n",
        encoding="utf-8",
    )
    run = train(tmp_path, str(HERE / "digest.py"), str(tmp_path / "stock.py"), str(tmp_path / "digest"))
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert (tmp_path / "digest.0").read_text() != (tmp_path / "digest.1").read_text()
