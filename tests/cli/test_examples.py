"""The README's commands on the scripts of `examples/`, with the real engine."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

DISTRIBUTED = {
    "keras_fit.py": "keras",
    "gradient_tape.py": "gradient_tape",
    "session.py": "session",
    "monitored_session.py": "monitored_session",
    "estimator.py": "estimator",
}
REFUSED = {"mirrored.py": "other_framework"}


@pytest.fixture
def examples(root: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "examples"
    shutil.copytree(root / "examples", copy)
    return copy


def test_every_example_is_tested_here(root: Path) -> None:
    assert {p.name for p in (root / "examples").glob("*.py")} == set(DISTRIBUTED) | set(REFUSED)


@pytest.mark.parametrize(("name", "loop"), [*DISTRIBUTED.items(), *REFUSED.items()])
def test_the_loop_is_found(run, examples: Path, name: str, loop: str) -> None:
    result = run("summary", f"examples/{name}", "--format", "json")
    assert (result.status, json.loads(result.out)["loop"]) == (0, loop)


@pytest.mark.parametrize("name", DISTRIBUTED)
def test_nothing_stands_in_the_way(run, examples: Path, name: str) -> None:
    result = run("check", f"examples/{name}", "--format", "json")
    warnings = [v for v in json.loads(result.out) if v["severity"] != "information"]
    assert (result.status, warnings) == (0, [])
    hints = json.loads(run("check", f"examples/{name}", "--format", "json", "--select", "HVD001").out)
    assert [hint["code"] for hint in hints] == ["HVD001"]


@pytest.mark.parametrize("name", DISTRIBUTED)
def test_it_is_distributed_and_twice_changes_nothing(run, examples: Path, name: str) -> None:
    first = run("distribute", f"examples/{name}", "--output", "once.py")
    assert (first.status, first.out) == (0, "")
    once = Path("once.py").read_bytes()
    ast.parse(once)
    assert b"hvd.init()" in once
    kept = [line for line in (examples / name).read_bytes().splitlines() if line.startswith(b"def ")]
    assert all(line in once for line in kept)
    second = run("distribute", "once.py", "--output", "twice.py")
    assert second.status == 0
    assert "nothing to do" in second.err
    assert Path("twice.py").read_bytes() == once


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_a_reason_at_its_place(run, examples: Path, name: str) -> None:
    result = run("distribute", f"examples/{name}", "--output", "out.py")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"examples/{name}:9:")
    assert "tf.distribute" in result.err
    assert not Path("out.py").exists()


def test_a_script_without_a_loop_is_refused_when_it_is_named(run, tmp_path: Path) -> None:
    (tmp_path / "util.py").write_text("import tensorflow as tf\nprint(tf.__version__)\n")
    result = run("distribute", "util.py", "--output", "out.py")
    assert (result.status, result.out) == (1, "")
    assert ": HVD002 " in result.err
    assert run("distribute", ".").status == 0


def test_the_folder_as_a_whole(run, examples: Path) -> None:
    result = run("distribute", "examples")
    assert result.status == 1
    assert result.out.count("\n+++ b/examples/") == len(DISTRIBUTED)
    assert result.err.splitlines()[-4:] == [
        "files",
        "    5  distributed",
        "    1  refused",
        "    1    HVD202  the training loop must be one whose gradients can be averaged over the ranks",
    ]


def test_everything_that_is_listed_is_explained(run) -> None:
    listed = run("explain")
    assert listed.status == 0
    codes = [line.split()[0] for line in listed.out.splitlines() if line.startswith("  ")]
    assert {"HVD001", "HVD105", "C1", "C5", "K3", "G1"} <= set(codes)
    for code in codes:
        result = run("explain", code.lower())
        assert (result.status, result.err) == (0, "")
        assert result.out.startswith(f"{code}  ")
        assert len(result.out.splitlines()) > 3, f"{code} is not explained"
        assert "```" not in result.out


def test_what_does_not_exist_is_not_explained(run) -> None:
    result = run("explain", "HVD1059")
    assert result.status == 2
    assert "there is no restriction or rule 'HVD1059'; did you mean HVD1" in result.err


def test_a_restriction_is_found_by_its_name(run) -> None:
    by_code = run("explain", "HVD105")
    name = next(line.split()[1] for line in run("explain").out.splitlines() if line.startswith("  HVD105"))
    assert run("explain", name).out == by_code.out


@pytest.mark.training
@pytest.mark.parametrize("name", DISTRIBUTED)
def test_it_trains_on_two_processes(run, examples: Path, name: str, tf_python: Path) -> None:
    assert run("distribute", f"examples/{name}", "--write").status == 0
    environment = {
        **os.environ,
        "PATH": f"{tf_python.parent}:{os.environ['PATH']}",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [tf_python.parent / "horovodrun", "-np", "2", tf_python, examples / name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "[0]<stdout>" in done.stdout
