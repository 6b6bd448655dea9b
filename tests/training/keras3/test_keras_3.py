"""Keras 3 under real Horovod: our module by itself, programs distributed for it, and programs that may not be for it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from horovodize import runtime
from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize
from tests.training.contract import Expectation, no_stall, same_variables, stays_finite
from tests.training.running import KERAS_3, environment, train

pytestmark = [pytest.mark.keras3, pytest.mark.timeout(900)]
HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))


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
    run = train(
        HERE / "module_cases.py", tmp_path / "run", ranks=2, args=[str(tmp_path)], limit=600, world=KERAS_3
    )
    assert run.complete, run.why()
    found = [json.loads(line) for line in run.output.splitlines() if line.startswith('{"case"')]
    assert len(found) == 21
    assert [case for case in found if case["spread"] != 0 or (case["parity"] or 0) > 2e-6] == []


def test_the_package_has_it_under_the_name_that_scripts_import(root: Path) -> None:
    looks = (
        "import horovod_keras3 as found, horovodize.runtime.horovod_keras3 as own\n"
        "assert found.__file__ != own.__file__\n"
        "print(len(found.__all__), [n for n in own.__all__ if getattr(found, n) is not getattr(own, n)])\n"
    )
    server = root / "server"
    done = subprocess.run(
        [str(KERAS_3.python), "-c", looks],
        env=environment(300, KERAS_3) | {"PYTHONPATH": f"{server}:{server / 'top_level'}"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    number, differing = done.stdout.split(" ", 1)
    assert int(number) > 3
    assert differing == "[]\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_trains_alike_on_all_ranks(program: Path, tmp_path: Path) -> None:
    script = made_for("2.18", program, tmp_path)
    run = train(script, tmp_path / "run", ranks=2, world=KERAS_3)
    assert run.complete, run.why()
    assert run.reports[0]["optimizers"]
    assert [*no_stall(run), *same_variables(run, Expectation()), *stays_finite(run, run)] == []


@pytest.mark.parametrize("name", ["fit", "on_batch"])
def test_what_is_made_for_an_unknown_version_stops(name: str, tmp_path: Path) -> None:
    script = made_for("", HERE / "programs" / f"{name}.py", tmp_path)
    run = train(script, tmp_path / "run", ranks=2, world=KERAS_3)
    assert not run.complete
    error = {"fit": "AssertionError", "on_batch": "RuntimeError"}[name]
    assert f"{error}: Keras 3 would average nothing here" in run.why()
    assert not any(report["optimizers"] for report in run.reports)


@pytest.mark.parametrize(
    ("name", "error"), [("fit", "has no attribute 'ref'"), ("on_batch", "RuntimeError: Keras 3 would")]
)
def test_it_stops_also_where_python_leaves_assertions_out(name: str, error: str, tmp_path: Path) -> None:
    """`fit` in its first batch, by the callback that broadcasts."""
    script = made_for("", HERE / "programs" / f"{name}.py", tmp_path)
    run = subprocess.run(
        [KERAS_3.python, "-O", script],
        cwd=tmp_path,
        env=environment(200, KERAS_3),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode != 0
    assert error in run.stderr


def test_without_the_guard_it_would_not_average(tmp_path: Path) -> None:
    """Why there is a guard: Horovod's own optimizer under Keras 3."""
    (tmp_path / "stock.py").write_text(
        "import numpy as np, keras, horovod.tensorflow.keras as hvd\n"
        "hvd.init()\nx = np.random.RandomState(hvd.rank()).randn(64, 4)\nkeras.utils.set_random_seed(0)\n"
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])\n"
        "model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.1)), 'mse', jit_compile=False)\n"
        "model.fit(x, x.sum(1), verbose=0)\n",
        encoding="utf-8",
    )
    run = train(tmp_path / "stock.py", tmp_path / "run", ranks=2, world=KERAS_3)
    assert run.complete, run.why()
    faults = [fault.message for fault in same_variables(run, Expectation())]
    assert any("at the end, rank 1: trained" in message for message in faults)
