"""A part of `make test` that hangs is ended, with a message; one that is only slow is not."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest


def run(root: Path, log: Path, command: str, limit: int = 2) -> subprocess.CompletedProcess[str]:
    text = f'source scripts/lib.sh; part() {{ {command}; }}; unless_silent {limit} "$0" part; exit $?'
    return subprocess.run(
        ["bash", "-c", text, str(log)], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("status", [0, 3])
def test_what_ends_by_itself_keeps_its_status_and_what_it_printed(
    root: Path, tmp_path: Path, status: int
) -> None:
    log = tmp_path / "log"
    done = run(root, log, f"echo one; echo two >&2; exit {status}")
    assert (done.returncode, done.stdout) == (status, "one\ntwo\n")
    assert log.read_text() == "one\ntwo\n"


def test_what_prints_now_and_then_may_take_longer_than_the_limit(root: Path, tmp_path: Path) -> None:
    done = run(root, tmp_path / "log", "for i in 1 2 3 4 5 6 7; do echo $i; sleep 0.7; done")
    assert done.returncode == 0
    assert done.stdout.split() == list("1234567")


def test_what_prints_nothing_is_ended_with_all_that_it_started(root: Path, tmp_path: Path) -> None:
    log, alive = tmp_path / "log", tmp_path / "alive"
    done = run(root, log, f"echo begun; (while :; do touch '{alive}'; sleep 0.1; done) & sleep 300")
    assert done.returncode == 124
    assert log.read_text().splitlines() == [
        "begun",
        "ERROR it printed nothing for 2 s, so it was ended; the lines above are its last",
    ]
    alive.unlink()
    time.sleep(0.5)
    assert not alive.exists()
