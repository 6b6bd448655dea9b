"""Processes that read files for the index: what they find is what would be found here, and nothing of them is left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from horovodize.workspace import Index, State, workers
from horovodize.workspace.workers import Workers
from tests.workspace.test_index import KERAS, PROJECTS

PATIENCE = 60.0  # seconds
# What a worker runs instead, with a line of its own before.
CODE = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
import os, time
from horovodize.workspace import worker
from horovodize.workspace.reading import Reading
read = Reading.read
def other(self, task):
    {line}
    return read(self, task)
Reading.read = other
worker.main(sys.argv[2:])
"""


@pytest.fixture
def made():
    """Makes workers, and ends them after the test."""
    every: list[Workers] = []

    def make(folders):
        every.append(Workers(folders, 2))
        return every[-1]

    make.every = every
    yield make
    for one in every:
        one.close()


def indexed(folder, make, **more):
    index = Index(workers=make, **more)
    index.add(str(folder))
    read_all(index)
    return index


def read_all(index):
    until = time.monotonic() + PATIENCE
    for progress in index.steps():
        if progress.waits:
            index.wait(0.1)
        assert time.monotonic() < until


def found(index, folder):
    return {os.path.relpath(p, folder): s.to_json() for p, s in index.summaries(str(folder))}


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()


def is_gone(process):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if not is_there(process):
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def folder(tmp_path):
    top = tmp_path / "folder"
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__")
    shutil.copytree(PROJECTS / "four_modules", top / "project", ignore=ignored)
    (top / "train.py").write_text(KERAS)
    (top / "broken.py").write_text("import tensorflow\nx = (\n")
    (top / "plain.py").write_text("x = 1\n")
    return top


def test_what_workers_find_is_what_is_found_here(folder, made):
    here = Index()
    here.add(str(folder))
    read_all(here)
    there = indexed(folder, made)
    assert found(there, folder) == found(here, folder)
    assert len(found(there, folder)) >= 3
    scripts = [path for path, _ in here.summaries(str(folder))]
    modules = [str(p) for p in (folder / "project").rglob("*.py")]
    assert {m: there.askers(m) for m in modules} == {m: here.askers(m) for m in modules}
    assert any(there.runners(m) for m in modules), scripts


def test_no_process_is_started_where_there_is_nothing_to_read(tmp_path, made):
    (tmp_path / "plain.py").write_text("x = 1\n")
    index = indexed(tmp_path, made)
    assert index.holds(str(tmp_path / "plain.py"))
    assert made.every == []


def test_the_text_of_a_buffer_counts_in_another_process_too(folder, made):
    script = str(folder / "project" / "train.py")
    module = next(str(p) for p in (folder / "project").rglob("*.py") if p.name != "train.py")
    assert os.path.exists(script)
    text = Path(script).read_text().replace("import", "import horovod.tensorflow as hvd\nimport", 1)

    def load(path):
        from horovodize.source import Document

        return (
            Document(text if path == script else Path(path).read_text(), path)
            if os.path.exists(path)
            else None
        )

    index = indexed(folder, made, load=load, open_files=lambda: {script: text, module: None})
    assert index.summary(script).state is State.DISTRIBUTED


def test_a_file_that_ends_its_process_is_given_up_and_the_others_are_read(folder, made, monkeypatch):
    monkeypatch.setattr(workers, "_CODE", CODE.format(line="task.path.endswith('broken.py') and os._exit(1)"))
    index = indexed(folder, made)
    broken = index.summary(str(folder / "broken.py"))
    assert (broken.state, broken.problem) == (
        State.UNREADABLE,
        "it could not be read: the process that read it came to an end, twice",
    )
    assert index.summary(str(folder / "train.py")).state is State.DISTRIBUTABLE
    assert index.idle


def test_a_process_that_is_killed_once_changes_nothing(folder, made, tmp_path, monkeypatch):
    once = tmp_path / "once"
    line = f"not os.path.exists({str(once)!r}) and (open({str(once)!r}, 'x').close(), os._exit(9))"
    monkeypatch.setattr(workers, "_CODE", CODE.format(line=line))
    index = indexed(folder, made)
    assert once.exists()
    assert index.summary(str(folder / "train.py")).state is State.DISTRIBUTABLE
    assert "twice" not in str(found(index, folder))


def test_a_fault_at_one_file_is_told_and_the_others_are_read(folder, made, monkeypatch):
    line = "assert not task.path.endswith('broken.py'), 'at fault'"
    monkeypatch.setattr(workers, "_CODE", CODE.format(line=line))
    index = Index(workers=made)
    index.add(str(folder))
    with pytest.raises(RuntimeError, match="at fault"):
        read_all(index)
    read_all(index)
    assert index.summary(str(folder / "broken.py")) is None
    assert index.summary(str(folder / "train.py")).state is State.DISTRIBUTABLE


def test_where_no_process_can_be_started_files_are_read_here(folder, made, monkeypatch):
    monkeypatch.setattr(workers, "_CODE", "raise SystemExit")
    index = indexed(folder, made)
    assert index.summary(str(folder / "train.py")).state is State.DISTRIBUTABLE
    assert len(made.every) == 1


def begun(folder, made, monkeypatch, seconds):
    """An index that waits for processes which take so long for each file."""
    monkeypatch.setattr(workers, "_CODE", CODE.format(line=f"time.sleep({seconds})"))
    index = Index(workers=made)
    index.add(str(folder))
    steps = index.steps()
    while not next(steps).waits:
        pass
    return index


def test_a_folder_may_vanish_while_it_is_read(folder, made, monkeypatch):
    index = begun(folder, made, monkeypatch, seconds=0.3)
    shutil.rmtree(folder)
    assert index.changed([str(folder / name) for name in ("train.py", "broken.py", "project")])
    read_all(index)
    assert found(index, folder) == {}


def test_a_file_that_is_written_while_it_is_read_is_read_again(folder, made, monkeypatch):
    index = begun(folder, made, monkeypatch, seconds=0.3)
    (folder / "train.py").write_text("import horovod.tensorflow.keras as hvd\n" + KERAS)
    assert index.changed([str(folder / "train.py")])
    read_all(index)
    assert index.summary(str(folder / "train.py")).state is State.DISTRIBUTED


def test_closing_ends_the_processes_in_the_middle_of_a_file(folder, made, monkeypatch):
    index = begun(folder, made, monkeypatch, seconds=1000)
    until = time.monotonic() + PATIENCE
    while len(processes := {p.pid for p in made.every[0]._processes}) < 1:
        assert time.monotonic() < until
        time.sleep(0.01)
    index.rest()
    assert all(is_gone(process) for process in processes)
    assert not index.idle  # they are read when it goes on


ENDS = """\
import os, sys, time
from horovodize.workspace import Index, workers
workers._CODE = {code!r}
index = Index(workers=lambda folders: workers.Workers(folders, 1))
index.add({folder!r})
steps = index.steps()
while not next(steps).waits:
    pass
while not index._workers._processes or not os.path.exists({begun!r}):
    time.sleep(0.01)
sys.stderr.write(str(next(iter(index._workers._processes)).pid))
sys.stderr.flush()
os._exit(1)
"""


def test_workers_end_with_the_process_that_started_them_and_have_none_of_its_streams(folder, tmp_path):
    begun = str(tmp_path / "begun")
    line = f"print('to standard output', flush=True); sys.stdin.read(); open({begun!r}, 'x').close(); time.sleep(1000)"
    code = ENDS.format(code=CODE.format(line=line), folder=str(folder), begun=begun)
    ended = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        input="for the client",
        timeout=PATIENCE,
    )
    assert ended.stdout == ""
    assert is_gone(int(ended.stderr))


def test_modules_of_the_current_folder_are_not_imported(folder, tmp_path, made, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("json", "ast", "pickle", "horovodize"):
        (here / f"{name}.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(here)
    index = indexed(folder, made)
    assert index.summary(str(folder / "train.py")).state is State.DISTRIBUTABLE
    assert made.every[0]._processes  # they did it


def test_there_is_one_process_where_memory_is_small(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(4)), raising=False)
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": (3 << 30) // 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert workers.how_many() == 1
    sizes["SC_PHYS_PAGES"] *= 100
    assert workers.how_many() == 4
    monkeypatch.setattr(sys, "executable", "")
    assert workers.how_many() == 0


def test_on_windows_a_process_is_started_without_a_window_and_with_low_priority(folder, made, monkeypatch):
    asked = []
    monkeypatch.setattr(subprocess, "IDLE_PRIORITY_CLASS", 0x40, raising=False)
    monkeypatch.setattr(subprocess, "CREATE_NO_WINDOW", 0x08000000, raising=False)

    def popen(command, **options):
        asked.append(options)
        raise OSError

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.delattr(os, "sysconf")
    assert workers.how_many() >= 1
    index = indexed(folder, made)
    assert asked[0]["creationflags"] == 0x08000040
    assert index.summary(str(folder / "train.py")).state is State.DISTRIBUTABLE


def test_a_large_folder_is_read_by_several_processes(tmp_path, made):
    for number in range(40):
        (tmp_path / f"train_{number}.py").write_text(f"{KERAS}# {number}\n")
    index = indexed(tmp_path, made)
    assert len(found(index, tmp_path)) == 40
    assert len(made.every[0]._processes) == 2
