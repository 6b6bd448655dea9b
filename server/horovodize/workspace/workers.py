"""Processes that read files, so that this one need not: as many as there are cores, fewer where memory is small.

Each is started when there are enough files for it, by a thread of this process that hands it one file after the other. They
share nothing with this process but a pipe in each direction: its standard input and output may be a client's, not theirs."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence

from horovodize.workspace.reading import Found, Task
from horovodize.workspace.worker import READY

_MOST = 8
_MEMORY = 2 << 30  # bytes of the machine's for each
_FILES = 10  # that are given before another process is started: a small folder needs no more than one
_WAITING = 2  # tasks for each: what is changed or opened meanwhile can still come first
# `-I` keeps modules that lie in the current folder from being imported; where ours are is said.
_CODE = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from horovodize.workspace.worker import main
main(sys.argv[2:])
"""


def how_many() -> int:
    """How many processes there should be; 0 where none can be started."""
    if not sys.executable or sys.platform == "emscripten":
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        memory = cores * _MEMORY
    return max(1, min(cores, memory // _MEMORY, _MOST))


class Lost(Exception):
    """The process that read a file ended before it was done."""


class Unstartable(Exception):
    """No process can be started that reads files."""


class Workers:
    """Some processes that read files in some folders."""

    def __init__(self, folders: Sequence[str], number: int) -> None:
        self._folders = list(folders)
        self._most = number
        self._given = self._ever_given = 0
        self._closed = False
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[Task, Found | Exception]] = queue.SimpleQueue()
        self._arrived = threading.Event()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._threads: list[threading.Thread] = []

    @property
    def has_room(self) -> bool:
        """Whether another task should be given."""
        return self._given < max(len(self._threads), 1) * _WAITING

    def give(self, task: Task) -> None:
        """Has a file read."""
        if len(self._threads) < min(self._most, 1 + self._ever_given // _FILES):
            self._threads.append(threading.Thread(target=self._serve, daemon=True))
            self._threads[-1].start()
        self._given += 1
        self._ever_given += 1
        self._tasks.put(task)

    def taken(self) -> tuple[Task, Found | Exception] | None:
        """The next task that is done, and what was found: Lost, Unstartable or RuntimeError where it could not be; None where
        there is none (yet)."""
        self._arrived.clear()
        try:
            result = self._results.get_nowait()
        except queue.Empty:
            return None
        self._given -= 1
        return result

    def wait(self, seconds: float) -> None:
        """Until another task is done, but no longer than so."""
        if self._results.empty():
            self._arrived.wait(seconds)

    def close(self) -> None:
        """Ends the processes, at once."""
        self._closed = True
        for _ in self._threads:
            self._tasks.put(None)
        for process in list(self._processes):
            with contextlib.suppress(OSError):
                process.kill()
        for thread in self._threads:
            thread.join(1.0)

    # ------------------------------------------------------------------ a thread for each process

    def _serve(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        while (task := self._tasks.get()) is not None and not self._closed:
            found: Found | Exception
            try:
                process = process or self._start()
                found = self._ask(process, task)
            except Unstartable as e:
                found = e
            except (OSError, EOFError, pickle.UnpicklingError) as e:
                found = Lost(str(e))
                self._end(process)
                process = None
            self._results.put((task, found))
            self._arrived.set()
        self._end(process)

    def _start(self) -> subprocess.Popen[bytes]:
        idle = getattr(subprocess, "IDLE_PRIORITY_CLASS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
        command = [sys.executable, "-I", "-c", _CODE, json.dumps(sys.path), *self._folders]
        process = None
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=idle,
            )
            self._processes.add(process)
            assert process.stdout is not None
            if pickle.load(process.stdout) != READY:
                raise EOFError
        except (OSError, EOFError, pickle.UnpicklingError) as e:
            self._end(process)
            raise Unstartable(str(e)) from e
        return process

    def _ask(self, process: subprocess.Popen[bytes], task: Task) -> Found | Exception:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(pickle.dumps(task))
        process.stdin.flush()
        found = pickle.load(process.stdout)
        return found if isinstance(found, Found) else RuntimeError(found)

    def _end(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is None:
            return
        self._processes.discard(process)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
