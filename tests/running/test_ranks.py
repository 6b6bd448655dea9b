"""Several ranks are started, heard and ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from horovodize.running.ranks import CannotRun, interpreter, launch_line, run_ranks


def running(script: Path) -> list[str]:
    """The processes that have a script in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(script).encode() in words and int(entry.name) != os.getpid():
            found.append(entry.name)
    return found


@pytest.fixture
def run(tmp_path: Path, launcher: str):
    def run_it(text: str, ranks: int = 2, **more):
        script = tmp_path / "work.py"
        script.write_text("import os, sys, time\nrank = int(os.environ.get('HOROVOD_RANK', 0))\n" + text)
        more.setdefault("launcher", f"{launcher} {ranks}")
        result = run_ranks(
            [script, *more.pop("arguments", ())], ranks, python=sys.executable, folder=tmp_path, **more
        )
        assert running(script) == []
        return result

    return run_it


def test_each_rank_is_heard(run) -> None:
    heard: list[tuple[int | None, str]] = []
    text = "print('out', rank, sys.argv[1])\nprint('err', rank, file=sys.stderr)\nsys.stdout.write('half')"
    result = run(text, 3, arguments=["x y"], on_line=lambda rank, line: heard.append((rank, line)))
    assert (result.status, result.statuses) == (0, {0: 0, 1: 0, 2: 0})
    for rank in range(3):
        assert [line for who, line in heard if who == rank] == [f"out {rank} x y", f"err {rank}", "half"]
        assert result.output[rank] == f"out {rank} x y\nerr {rank}\nhalf"


def test_alone_without_a_launcher(run) -> None:
    result = run("print(os.environ.get('HOROVOD_RANK'), os.getcwd())", 0, launcher="no-such-launcher")
    assert (result.status, result.statuses) == (0, {0: 0})
    assert result.output[0].startswith("None ")


def test_how_ranks_end_is_known(run) -> None:
    # Rank 1 waits for rank 0: one that is ended before it has begun leaves no status.
    text = (
        "if rank == 0: open('here', 'w').close()\n"
        "while rank == 1 and not os.path.exists('here'): time.sleep(0.01)\n"
        "if rank == 1: os.kill(os.getpid(), 9)\nif rank == 2: time.sleep(1); sys.exit(3)\ntime.sleep(30)"
    )
    result = run(text, 3)
    assert result.status
    assert result.statuses[1] == -signal.SIGKILL
    assert result.statuses[0] == -signal.SIGTERM
    assert result.ended[1] <= result.ended[0]


def test_a_limit_ends_all(run) -> None:
    started = time.monotonic()
    result = run("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)", limit=1.0)
    assert result.over_limit
    assert time.monotonic() - started < 30


def test_an_interrupt_ends_all(run) -> None:
    heard: list[str] = []

    def interrupt(rank: int | None, line: str) -> None:
        heard.append(line)
        if len(heard) == 1:
            raise KeyboardInterrupt

    result = run("print('here', flush=True)\ntime.sleep(60)", on_line=interrupt)
    assert result.interrupted
    assert result.status


def test_processes_of_ranks_end_with_them(run, tmp_path: Path) -> None:
    child = tmp_path / "child-work.py"
    child.write_text("import time\ntime.sleep(60)\n")
    result = run(
        f"import subprocess\nsubprocess.Popen([sys.executable, {str(child)!r}])\ntime.sleep(60)", limit=1.5
    )
    assert result.over_limit
    assert running(child) == []


def test_processes_end_whose_parents_are_gone(run, tmp_path: Path) -> None:
    child = tmp_path / "orphan-work.py"
    child.write_text("import time\ntime.sleep(60)\n")
    start = (
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, {str(child)!r}], start_new_session=True)"
    )
    assert run(f"import subprocess\nsubprocess.check_call([sys.executable, '-c', {start!r}])").status == 0
    assert running(child) == []


def test_a_log_is_kept(run, tmp_path: Path) -> None:
    run("print(rank)", log=tmp_path / "logs" / "of")
    assert (tmp_path / "logs" / "of" / "rank-1.txt").read_text() == "1\n"


def test_what_is_said_is_text_whatever_it_is(run) -> None:
    heard: list[str] = []
    run(
        "os.write(1, b'\\xff\\xc3'); time.sleep(0.3); os.write(1, b'\\xa4\\r\\nx')",
        1,
        on_line=lambda rank, line: heard.append(line),
    )
    assert heard == ["\ufffdä", "x"]


def test_no_launcher_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="no horovodrun on the PATH: install Horovod"):
        launch_line("horovodrun", 2, None, {"PATH": str(tmp_path)})
    with pytest.raises(CannotRun, match="no mpirun on the PATH: --launcher"):
        launch_line("mpirun", 2, None, {"PATH": str(tmp_path)})


def test_launch_lines(tmp_path: Path) -> None:
    for name in ("horovodrun", "mpirun", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    around = {"PATH": str(tmp_path)}
    assert launch_line("horovodrun", 3, "one:2,two:1", around)[1:] == [
        "-np",
        "3",
        "-H",
        "one:2,two:1",
        "--gloo",
    ]
    assert launch_line("mpirun", 2, None, around)[1:3] == ["-np", "2"]
    assert launch_line("srun", 2, "one:1,two:1", around)[1:] == ["-n", "2", "-w", "one,two"]
    assert launch_line("mpirun -np 7 --oversubscribe", 2, None, around)[1:] == ["-np", "7", "--oversubscribe"]


def test_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert interpreter(str(tmp_path / "env")) == interpreter(str(python)) == str(python)
    (tmp_path / "pyproject.toml").write_text('[tool.horovodize]\npython = "env"\n')
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert interpreter("", tmp_path) == str(python)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    assert interpreter() == str(python)
    with pytest.raises(CannotRun, match="there is no Python at"):
        interpreter(str(tmp_path / "gone"))


def test_other_threads_may_run_ranks(run) -> None:
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(run("print(rank)").status))
    thread.start()
    thread.join(60)
    assert statuses == [0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_an_editor_ends_us_with_ends_all(run, number: signal.Signals) -> None:
    before, heard = signal.getsignal(number), []

    def end(rank: int | None, line: str) -> None:
        heard.append(line)
        if len(heard) == 1:
            os.kill(os.getpid(), number)

    result = run("print('here', flush=True)\ntime.sleep(60)", on_line=end)
    assert result.interrupted
    assert signal.getsignal(number) == before
