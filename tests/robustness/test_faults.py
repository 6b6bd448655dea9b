"""Faults of the machine: whatever the disk holds or lacks, questions are answered, and rightly afterwards."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from horovodize.files import lists, walk
from tests.robustness.wire import Wire, served

KERAS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
model.fit(tf.ones((64, 4)), tf.ones((64, 1)), batch_size=8)
"""
Start = Callable[..., Wire]
COMMAND = (sys.executable, "-m", "horovodize")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "train.py").write_text(KERAS)
    return made


def names(found: dict[str, Any]) -> list[str]:
    return sorted(uri.rsplit("/", 1)[1] for uri in found)


def check_right(wire: Wire, folder: Path) -> None:
    """Questions about a file are answered as ever."""
    uri = (folder / "train.py").as_uri()
    wire.open(uri, KERAS)
    assert "Keras training loop" in wire.hover(uri, 4, 8)["contents"]["value"]
    (preview,) = wire.result(
        "workspace/executeCommand", {"command": "horovodize.preview", "arguments": [uri]}
    )
    assert "hvd.init()" in preview["newText"]
    wire.close(uri)


# ---------------------------------------------------------------------- what lies in a folder


def test_what_is_no_file_is_not_waited_for(start: Start, folder: Path) -> None:
    """Pipes that nobody writes to, devices, links in circles and to nowhere, folders called as files: by the index, by what a
    script imports, by what is told to have changed, by settings."""
    os.mkfifo(folder / "pipe.py")
    os.mkfifo(folder / ".gitignore")
    os.mkfifo(folder / "pyproject.toml")
    (folder / "package.py").mkdir()
    (folder / "circle.py").symlink_to("circle.py")
    (folder / "around").symlink_to(folder)
    (folder / "nowhere.py").symlink_to("not_there.py")
    (folder / "zero.py").symlink_to("/dev/zero")
    if os.getuid() == 0:
        os.mknod(folder / "device.py", 0o20666, os.makedev(1, 5))  # /dev/zero
        os.mknod(folder / "terminal.py", 0o20666, os.makedev(5, 0))
    wire = start()
    wire.initialize(folder)
    assert names(wire.indexed()) == ["train.py"]
    modules = ["pipe", "package", "circle", "around", "nowhere", "zero", "device", "terminal"]
    text = "".join(f"import {name}\n" for name in modules) + KERAS
    wire.open((folder / "main.py").as_uri(), text)
    (preview,) = wire.result(
        "workspace/executeCommand",
        {"command": "horovodize.preview", "arguments": [(folder / "main.py").as_uri()]},
    )
    assert "hvd.init()" in preview["newText"]
    changes = [{"uri": (folder / f"{name}.py").as_uri(), "type": 2} for name in modules]
    wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    wire.notify("textDocument/didSave", {"textDocument": {"uri": (folder / "pipe.py").as_uri()}})
    assert names(wire.indexed()) == ["main.py", "train.py"]
    check_right(wire, folder)
    assert not wire.logged_errors


def test_the_command_line_does_not_wait_for_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "data.py")
    os.mkfifo(folder / "pyproject.toml")
    (folder / "train.py").write_text("import data\n" + KERAS)
    command = [*COMMAND, "distribute", str(folder / "train.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "hvd.init()" in done.stdout, done.stderr


def test_unreadable_and_vanishing_files(start: Start, folder: Path) -> None:
    for number in range(200):
        (folder / f"other_{number}.py").write_text(KERAS + f"# {number}\n")
    (folder / "locked").mkdir(mode=0o000)
    (folder / "closed.py").write_text(KERAS)
    (folder / "closed.py").chmod(0o000)
    (folder / "binary.py").write_bytes(b"import tensorflow\n" + bytes(range(256)))
    (folder / "null.py").write_bytes(b"import tensorflow\n\0")
    wire = start()
    wire.initialize(folder)
    for number in range(0, 200, 2):
        (folder / f"other_{number}.py").unlink()
    wire.notify(
        "workspace/didChangeWatchedFiles",
        {"changes": [{"uri": (folder / f"other_{n}.py").as_uri(), "type": 3} for n in range(0, 200, 2)]},
    )
    found = names(wire.indexed())
    assert [name for name in found if name.startswith("other")] == sorted(
        f"other_{n}.py" for n in range(1, 200, 2)
    )
    assert "binary.py" in found  # known to be unreadable
    shutil.rmtree(folder)
    check_right(wire, folder)
    folder.mkdir()
    (folder / "train.py").write_text(KERAS)
    wire.result("workspace/executeCommand", {"command": "horovodize.reindex"})
    assert names(wire.indexed()) == ["train.py"]


def test_files_of_any_size(start: Start, folder: Path) -> None:
    """A file of 50 MB on disk is passed over; one in a buffer is answered for, and so is the next question."""
    big = KERAS + "x = [1, 2, 3, 4, 5, 6, 7, 8]  # nothing of interest here\n" * 1_000_000
    assert len(big) > 50_000_000
    (folder / "big.py").write_text(big)
    wire = start()
    wire.initialize(folder)
    assert names(wire.indexed()) == ["train.py"]
    (folder / "main.py").write_text("import big\n" + KERAS)
    check_right(wire, folder)
    wire.open("untitled:big", "#" * 50_000_000)
    wire.change("untitled:big", 2, {"range": {"start": {"line": 0, "character": 9}, "end": {"line": 0, "character": 9}}, "text": "x"})  # fmt: skip  # noqa: E501
    assert wire.diagnostics("untitled:big", 2) == []
    check_right(wire, folder)
    assert not wire.logged_errors


def test_folders_nested_as_deeply_as_the_disk_allows(tmp_path: Path) -> None:
    here, folder = os.getcwd(), tmp_path / "deep"
    folder.mkdir()
    try:
        os.chdir(folder)
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        Path("train.py").write_text(KERAS)
        os.chdir(here)
        (path,) = walk(folder)
        assert path.name == "train.py"
        assert lists(folder, path)
    finally:
        os.chdir(here)
        subprocess.run(["rm", "-rf", folder], check=True)  # deeper than shutil can remove


# ---------------------------------------------------------------------- what is in a file

_N = 10_000
DEEP = {
    "brackets": "x = " + "(" * _N + ")" * _N,
    "lists": "x = " + "[" * 90 + "]" * 90,
    "open brackets": "x = " + "[" * _N,
    "terms": "x = " + " + ".join(["1"] * _N),
    "strings": "x = " + " ".join(["'a'"] * _N),
    "chain": "x = a" + ".b" * _N,
    "calls": "x = a" + "()" * _N,
    "subscripts": "x = a" + "[0]" * _N,
    "not": "x = " + "not " * _N + "1",
    "minus": "x = " + "-" * _N + "1",
    "lambdas": "x = " + "lambda: " * _N + "1",
    "ternaries": "x = " + "1 if a else " * _N + "2",
    "comparisons": "x = " + " < ".join(["1"] * _N),
    "and": "x = " + " and ".join(["a"] * _N),
    "power": "x = " + " ** ".join(["a"] * _N),
    "dictionary": "x = " + "{1: " * _N + "1" + "}" * _N,
    "formats": "x = f'" + "{a}" * _N + "'",
    "functions": "".join(" " * n + "def f():\n" for n in range(90)) + " " * 90 + "pass",
    "too many functions": "".join(" " * n + "def f():\n" for n in range(2000)) + " " * 2000 + "pass",
    "classes": "".join(" " * n + "class A:\n" for n in range(90)) + " " * 90 + "pass",
    "loops": "".join(" " * n + "for x in y:\n" for n in range(19)) + " " * 19 + "pass",
    "elif": "if a: pass\n" + "elif a: pass\n" * 3000,
    "else if": "".join(" " * n + "if a: pass\n" + " " * n + "else:\n" for n in range(90)) + " " * 90 + "pass",
    "assignments": "x = " * _N + "1",
    "arguments": "x = f(" + ", ".join(f"a{n}" for n in range(_N)) + ")",
    "decorators": "@f\n" * _N + "def g(): pass",
    "statements": "; ".join(["x = 1"] * _N),
    "names": "\n".join(f"x{n} = x{n - 1}" for n in range(1, 5000)),
    "one name": "x = 1\n" + "x = x + 1\n" * 5000,
    "calls in calls": "x = " + "f(" * 90 + ")" * 90,
    "functions of each other": "\n".join(f"def f{n}(): return f{n + 1}()" for n in range(3000)),
    "tape": "with tf.GradientTape() as t:\n    loss = " + " + ".join(["a * b"] * 3000),
}


@pytest.mark.parametrize("kind", DEEP)
def test_deep_nesting(open_server: Wire, kind: str) -> None:
    """Alone, in front of a loop, and as what feeds it: an answer, if only that it is too deep; then the next one."""
    wire = open_server
    for number, text in enumerate(
        [
            DEEP[kind],
            KERAS + DEEP[kind] + "\n",
            KERAS.replace("model = ", DEEP[kind] + "\nmodel = ") + "model.fit(x)\n",
        ]
    ):
        uri = f"untitled:{kind.replace(' ', '_')}_{number}"
        wire.open(uri, text)
        wire.diagnostics(uri, 1)
        wire.hover(uri, 0, 4)
        (preview,) = wire.result(
            "workspace/executeCommand", {"command": "horovodize.preview", "arguments": [uri]}
        )
        assert all(reason["code"] != "HVD007" for reason in preview.get("refused", [])), preview
        wire.close(uri)
    assert not wire.logged_errors, wire.logged_errors[0][-1500:]


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with served(env={"HOROVODIZE_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}) as wire:
        wire.initialize()
        yield wire


# ---------------------------------------------------------------------- many things at once


def test_a_branch_is_switched(start: Start, folder: Path) -> None:
    """Thousands of files change at once: questions meanwhile are answered at once, and in the end all is right."""
    count = 2000
    for number in range(count):
        (folder / f"file_{number}.py").write_text(KERAS if number % 10 == 0 else "x = 1\n")
    wire = start()
    wire.initialize(folder)
    assert len(wire.indexed()) == count // 10 + 1
    for number in range(count):
        (folder / f"file_{number}.py").write_text(KERAS + f"# {number}\n" if number % 10 == 1 else "x = 2\n")
    changes = [{"uri": (folder / f"file_{n}.py").as_uri(), "type": 2} for n in range(count)]
    wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    uri = (folder / "train.py").as_uri()
    wire.open(uri, KERAS)
    assert not wire.result("horovodize/workspaceSummary", {})["complete"]  # the files are still being read
    assert "Keras" in wire.hover(uri, 4, 8)["contents"]["value"]
    assert not wire.result("horovodize/workspaceSummary", {})["complete"]
    assert names(wire.indexed()) == sorted([*(f"file_{n}.py" for n in range(1, count, 10)), "train.py"])


def test_what_is_told_to_have_changed_is_what_a_scan_finds(start: Start, folder: Path) -> None:
    """Files that are ignored, linked or in a virtual environment are none of ours, however we hear of them."""
    (folder / ".gitignore").write_text("ignored/\nalso_*.py\n")
    (folder / "env").mkdir()
    (folder / "env" / "pyvenv.cfg").touch()
    for name in ("ignored/a.py", "also_b.py", "env/c.py", ".venv/d.py", "sub/e.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(KERAS)
    (folder / "linked.py").symlink_to("sub/e.py")
    (folder / "linked").symlink_to("sub")
    wire = start()
    wire.initialize(folder)
    before = names(wire.indexed())
    told = ["ignored/a.py", "also_b.py", "env/c.py", ".venv/d.py", "sub/e.py", "linked.py", "linked/e.py"]
    changes = [{"uri": (folder / name).as_uri(), "type": 1} for name in told]
    wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    assert names(wire.indexed()) == before == ["e.py", "train.py"]


# ---------------------------------------------------------------------- the cache


def check_cache(cache: Path) -> None:
    """The database is whole."""
    if (cache / "index.sqlite3").exists():
        with sqlite3.connect(cache / "index.sqlite3") as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("milliseconds", [20, 80, 150, 300])
def test_killed_at_any_moment(start: Start, folder: Path, cache: Path, milliseconds: int) -> None:
    """The next server starts right and knows everything; what was written is whole."""
    for number in range(80):
        (folder / f"other_{number}.py").write_text(KERAS + f"# {number}\n")
    wire = start()
    wire.initialize(folder)
    time.sleep(milliseconds / 1000)  # the moment is what is tried
    wire.process.kill()
    wire.process.wait()
    check_cache(cache)
    again = start()
    again.initialize(folder)
    assert len(again.indexed()) == 81
    assert again.exit() == 0
    check_cache(cache)


def test_two_servers_share_a_cache_and_one_is_killed(start: Start, folder: Path, cache: Path) -> None:
    for number in range(80):
        (folder / f"other_{number}.py").write_text(KERAS + f"# {number}\n")
    first, second = start(), start()
    first.initialize(folder)
    second.initialize(folder)
    first.check_alive()
    first.process.kill()
    assert len(second.indexed()) == 81
    assert not second.logged_errors
    check_cache(cache)


@pytest.mark.parametrize("room", [0, 30_000])
def test_no_file_may_grow(start: Start, folder: Path, cache: Path, room: int) -> None:
    """The limit that a system sets to the size of files: writing fails, everything else goes on."""
    for number in range(40):
        (folder / f"other_{number}.py").write_text(KERAS + f"# {number}\n")
    wire = start(largest_file=room)
    wire.initialize(folder)
    assert len(wire.indexed()) == 41
    check_right(wire, folder)
    assert wire.exit() == 0
    again = start()
    again.initialize(folder)
    assert len(again.indexed()) == 41


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system without room; where none can be mounted, a device that is always full stands for it."""
    place = tmp_path / "full"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        (place / "index.sqlite3").symlink_to("/dev/full")
        yield place
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_the_disk_is_full(start: Start, folder: Path, full_disk: Path) -> None:
    for number in range(40):
        (folder / f"other_{number}.py").write_text(KERAS + f"# {number}\n")
    wire = start(env={"HOROVODIZE_CACHE_DIR": str(full_disk)})
    wire.initialize(folder)
    assert len(wire.indexed()) == 41
    check_right(wire, folder)
    assert wire.exit() == 0


@pytest.mark.parametrize("place", ["file", "read-only", "gone"])
def test_no_place_for_a_cache(start: Start, folder: Path, tmp_path: Path, place: str) -> None:
    where = tmp_path / "place"
    if place == "file":
        where.write_text("not a folder")
    elif place == "read-only":
        where = Path("/proc/horovodize")
    wire = start(env={"HOROVODIZE_CACHE_DIR": str(where)})
    wire.initialize(folder)
    assert names(wire.indexed()) == ["train.py"]
    if place == "gone":
        shutil.rmtree(where)
    check_right(wire, folder)
    wire.result("workspace/executeCommand", {"command": "horovodize.reindex"})
    assert names(wire.indexed()) == ["train.py"]
