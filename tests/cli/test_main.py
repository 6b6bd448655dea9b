"""The command line as a whole: versions, colours, streams, progress, nothing but messages for whatever goes wrong."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import horovodize
from horovodize.cli.output import Console
from horovodize.cli.server import address

KERAS = "import tensorflow as tf\nmodel = tf.keras.Sequential()\nmodel.compile('adam')\nmodel.fit(x, y)\n"


def horovodize_process(*arguments: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "horovodize", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **more)  # type: ignore[call-overload, no-any-return]


def test_version(run) -> None:
    result = run("--version")
    assert (result.status, result.out) == (0, f"horovodize {horovodize.__version__}\n")


def test_help_of_everything(run) -> None:
    assert "distribute" in run("--help").out
    for command in ("distribute", "check", "summary", "explain", "server"):
        result = run(command, "--help")
        assert (result.status, result.err) == (0, "")
        assert f"usage: horovodize {command}" in result.out


def test_starting_loads_nothing_heavy() -> None:
    code = (
        "import sys, horovodize.cli as c; c.make_parser();"
        "heavy = {'pygls', 'lsprotocol', 'libcst', 'asyncio', 'horovodize.summary', 'horovodize.rules', 'json', 'tomllib',"
        " 'difflib', 'horovodize.catalogue'}; print(sorted(heavy & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_distributing_never_loads_the_server_nor_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERAS)
    code = (
        "import sys, horovodize.cli as c; s = c.main(['distribute', 'a.py', '--output', 'b.py']);"
        "print(s, sorted({'pygls', 'lsprotocol', 'asyncio', 'libcst', 'tensorflow', 'horovodize.lsp'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=tmp_path) == "0 []\n"


@pytest.mark.parametrize(
    ("color", "environment", "terminal", "colored"),
    [
        ("auto", {}, False, False),
        ("auto", {}, True, True),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {}, True, False),
    ],
)
def test_colours(monkeypatch, color: str, environment: dict[str, str], terminal: bool, colored: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert Console(color).colored() is colored
    assert (Console(color).paint("x", "red") == "x") is not colored


def test_a_python_without_sqlite_will_do(tmp_path: Path) -> None:
    """Some have none: those that are built without its headers, those in browsers."""
    (tmp_path / "a.py").write_text(KERAS)
    code = "import sys; sys.modules['sqlite3'] = None; import horovodize.cli as c; print(c.main(['check', '-q', '.']))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=tmp_path) == "0\n"


def test_a_reader_that_has_enough_is_no_error(tmp_path: Path) -> None:
    for i in range(30):
        (tmp_path / f"a{i}.py").write_text("# " + "x" * 5000 + "\n" + KERAS)
    command = f"{sys.executable} -m horovodize summary --format json . | head -c 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[", "")


def test_names_that_are_no_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xe9.py")
    (tmp_path / name).write_text(KERAS)
    for arguments in (
        ("summary", name),
        ("check", "."),
        ("summary", ".", "--format", "json"),
        ("distribute", name),
    ):
        done = horovodize_process(*arguments, cwd=tmp_path)
        assert b"internal error" not in done.stderr
        assert b"Traceback" not in done.stderr


def test_a_terminal_that_knows_only_ascii(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERAS.replace("model", "modèle"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = horovodize_process("summary", "a.py", cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"mod\\xe8le" in done.stdout


def test_a_bar_on_a_terminal_and_nothing_left_of_it(tmp_path: Path) -> None:
    for i in range(25):
        (tmp_path / f"a{i}.py").write_text("x = 1\n")
    master, slave = pty.openpty()
    try:
        command = [sys.executable, "-m", "horovodize", "summary", "."]
        subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=slave, check=True)
        shown = os.read(master, 100_000).decode()
    finally:
        os.close(slave)
        os.close(master)
    assert "/25 " in shown
    assert shown.rpartition("\r\x1b[K")[2] == "25 more files without a training loop\r\n"


def test_no_bar_elsewhere(tmp_path: Path) -> None:
    for i in range(25):
        (tmp_path / f"a{i}.py").write_text("x = 1\n")
    assert (
        horovodize_process("summary", ".", cwd=tmp_path).stderr == b"25 more files without a training loop\n"
    )


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"\x00", b"x" * 200_000, b"(" * 5000, b"x = (" * 300 + b")" * 300, b"\xef\xbb\xbf", b"# coding: nonsense\n",
     b"\xff\xfe\x00", b"1" + b"+1" * 20_000, b"def f(:\n", b"\t x\n  y\n", b"print 'x'", b"# coding: rot13\nx", b"\x0c\x0c\n",
     b"if 1:\n" + b"".join(b" " * i + b"if 1:\n" for i in range(1, 101)), b"x = '\\\n", b"# coding: utf-16\nx", b"\r" * 100],
    ids=lambda data: repr(data[:20]),
)  # fmt: skip
@pytest.mark.parametrize("command", ["distribute", "check", "summary"])
def test_nothing_makes_it_crash(run, command: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(data)
    result = run(command, "x.py")
    assert "internal error" not in result.err
    assert result.status in {"distribute": {1}, "check": {0, 1}, "summary": {0}}[command]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("localhost:80", ("localhost", 80)), (":0", ("127.0.0.1", 0)), ("[::1]:5", ("::1", 5))],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert address(text) == expected


@pytest.mark.parametrize("text", ["80", "host", "host:", "host:x", "host:70000", "host:-1", "host:²"])
def test_what_is_no_address(run, text: str) -> None:
    result = run("server", "--tcp", text)
    assert result.status == 2
    assert "is not HOST:PORT" in result.err


def test_an_address_that_is_taken(run) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("server", "--tcp", f"127.0.0.1:{taken.getsockname()[1]}")
    assert result.status == 2
    assert "cannot listen at 127.0.0.1:" in result.err
