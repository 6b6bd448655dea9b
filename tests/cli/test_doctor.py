"""`horovodize doctor` without training: an environment that is this one, and some that are none."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.conftest import Run


def test_an_environment_without_tensorflow_has_problems(run: Run) -> None:
    done = run("doctor", "--quick", "--python", sys.executable, "--format", "json")
    report = json.loads(done.out)
    topics = {check["topic"]: check["state"] for check in report["checks"]}
    assert (done.status, report["ok"], report["python"]) == (1, False, sys.executable)
    assert (topics["Python"], topics["TensorFlow"], topics["Horovod"]) == ("ok", "problem", "problem")
    assert all(check["remedy"] for check in report["checks"] if check["state"] == "problem")


def test_training_is_not_tried_without_what_it_needs(run: Run) -> None:
    done = run("doctor", "--python", sys.executable)
    assert done.status == 1
    assert "skipped  two ranks" in done.out
    assert "not tried without TensorFlow and Horovod" in done.out


def test_no_python_is_a_problem_too(run: Run) -> None:
    done = run("doctor", "--python", "nowhere/python")
    assert (done.status, done.out.split()[:2]) == (1, ["problem", "Python"])
    assert "there is no Python at nowhere/python" in done.out


@pytest.mark.parametrize(
    ("words", "why"), [(("-H", "a:x"), "is not a host"), (("-np", "none"), "not a number of processes")]
)
def test_wrong_usage(run: Run, words: tuple[str, ...], why: str) -> None:
    done = run("doctor", "--quick", *words)
    assert (done.status, why in done.err) == (2, True)
