"""Other hosts, by an ssh that runs here what it is given, or doesn't."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from horovodize.diagnosing import State
from horovodize.diagnosing.hosts import check, is_local, ranks_here
from horovodize.diagnosing.interpreter import Packages, packages
from horovodize.launching.hosts import parse

_SSH = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
case "$1" in
    shared) exec sh -c "$2" ;;
    apart) case "$2" in test\\ -e*) exit 1 ;; esac; exec sh -c "$2" ;;
    empty) case "$2" in true) exit 0 ;; *) exit 1 ;; esac ;;
    *) echo "$1: Permission denied (publickey)." >&2; exit 255 ;;
esac
"""
OTHER = "192.0.2.1"  # of a network for documents: nobody's


@pytest.fixture(autouse=True)
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(_SSH)
    (tools / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setattr("horovodize.diagnosing.hosts.is_local", lambda name: name == "here")


def said(hosts: str, folder: Path, here: Packages | None = None, ranks: int = 2) -> list[tuple[State, str]]:
    found = check(parse(hosts), ranks, sys.executable, here or packages(sys.executable), folder)
    return [(line.state, f"{line.topic}: {line.text}") for line in found]


def test_hosts_that_do(tmp_path: Path) -> None:
    lines = said("here:1,shared:1", tmp_path)
    assert [state for state, _ in lines] == [State.OK] * 4
    assert lines[-1][1] == f"shared: {tmp_path} is shared"
    assert list(tmp_path.glob(".horovodize-*")) == []


def test_a_folder_of_its_own_is_noted(tmp_path: Path) -> None:
    assert said("here:1,apart:1", tmp_path)[-1] == (State.NOTE, f"apart: {tmp_path} is there, but not shared")


@pytest.mark.parametrize(
    ("hosts", "what"),
    [
        ("here:1,closed:1", "closed: ssh without a password fails: closed: Permission denied (publickey)."),
        ("here:1,empty:1", "isn't there"),
        ("here:1", "hosts: 1 processes fit for 2 ranks"),
    ],
)
def test_hosts_that_do_not(hosts: str, what: str, tmp_path: Path) -> None:
    problems = [text for state, text in said(hosts, tmp_path) if state is State.PROBLEM]
    assert what in problems[0]


def test_other_versions_there(tmp_path: Path) -> None:
    own = packages(sys.executable)
    here = Packages(own.python, {**own.versions, "horovod": "0.27.0"}, own.built_for)
    problems = [text for state, text in said("here:1,shared:1", tmp_path, here) if state is State.PROBLEM]
    assert problems == [f"shared: Horovod {own.horovod or 'missing'} (here 0.27.0)"]


def test_which_host_this_is() -> None:
    assert is_local("localhost")
    assert not is_local(OTHER)
    assert not is_local("no-such-host.invalid")


def test_ranks_of_this_host() -> None:
    assert ranks_here([], 3) == 3
    assert ranks_here(parse("here:2,b:4"), 5) == 2
    assert ranks_here(parse("b:4,here:4"), 5) == 1
    assert ranks_here(parse("b:4,here:4"), 3) == 0
