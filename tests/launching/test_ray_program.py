"""The program for Ray, with an executor that runs what it is given once, in this process."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from horovodize.launching import Job, prepare

RAY = "def init(): pass\n"
EXECUTOR = """\
class RayExecutor:
    @staticmethod
    def create_settings(**given): return given
    def __init__(self, settings, num_workers=None, num_hosts=None, num_workers_per_host=1, use_gpu=False):
        assert num_workers is None or num_hosts is None
    def start(self): pass
    def run(self, function): return [function()]
    def shutdown(self): print("shut down")
"""
HOROVOD = """\
started = False
def init():
    global started
    started = True
def is_initialized(): return started
def rank(): return 0
"""


def run(tmp_path: Path, script: str, **more: Any) -> subprocess.CompletedProcess[str]:
    for name, text in {
        "fakes/ray.py": RAY, "fakes/horovod/ray.py": EXECUTOR, "fakes/horovod/tensorflow.py": HOROVOD, "src/train.py": script,
        "src/beside.py": "",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    job = Job("src/train.py", 2, str(tmp_path), ("--name", "it's"), **more)
    (text,) = prepare("ray", job).files.values()
    return subprocess.run(
        [sys.executable, "-c", text], cwd="/", env={"PYTHONPATH": str(tmp_path / "fakes")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_it_runs_the_script_as_python_would(tmp_path: Path) -> None:
    script = (
        "import beside, horovod.tensorflow as hvd, os, sys\nhvd.init()\n"
        "print(__name__, sys.argv, os.getcwd())\nsys.exit(0)\n"
    )
    done = run(tmp_path, script)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines == [
        f"__main__ ['src/train.py', '--name', \"it's\"] {tmp_path}",
        "shut down",
        "src/train.py trained on 1 workers",
    ]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("x = 1\n", "src/train.py doesn't use Horovod"),
        ("import sys\nsys.exit('no data')\n", "ended with 'no data'"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("import horovod.tensorflow\n", "each worker trained alone"),
    ],
)
def test_what_fails_is_not_silent(tmp_path: Path, script: str, why: str) -> None:
    done = run(tmp_path, script)
    assert done.returncode != 0
    assert why in done.stderr
    assert "shut down" in done.stdout


@pytest.mark.parametrize(
    ("job", "arguments"),
    [
        (Job("t.py", 4, "/"), {"num_workers": 4, "use_gpu": False}),
        (Job("t.py", 8, "/", gpus_per_node=4), {"num_hosts": 2, "num_workers_per_host": 4, "use_gpu": True}),
    ],
)
def test_workers(job: Job, arguments: dict[str, Any]) -> None:
    (text,) = prepare("ray", job).files.values()
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    (call,) = [call for call in calls if ast.unparse(call.func) == "RayExecutor"]
    assert {k.arg: ast.literal_eval(k.value) for k in call.keywords} == arguments
