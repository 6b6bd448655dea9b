"""A process that reads files for another one: tasks come in by its standard input, what it finds goes out by its standard
output, pickled. It gives way to others, and ends at once when its input does: with the process that started it."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from horovodize.files import read_regular
from horovodize.source import Document, UndecodableSource
from horovodize.workspace.reading import LARGEST, Reading, Task

READY = "ready"  # is sent first
_KEPT = 150  # documents, those that were asked for last: more than most scripts import
# Of POSIX's priorities; on Windows, who starts a process says so. The lowest would get nothing where training takes all cores.
_NICE = 10


class Files:
    """Files on disk inside some folders; of those that are open and not saved, the open ones' texts. What links lead to
    outside of the folders is not there."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [os.path.realpath(folder).rstrip(os.sep) + os.sep for folder in folders]
        self._read: OrderedDict[str, tuple[tuple[int, int], Document | None]] = OrderedDict()
        self._open: dict[str, Document] = {}

    def see(self, unsaved: Mapping[str, str]) -> None:
        """Which documents are open with which texts, from now on."""
        before = self._open
        self._open = {}
        for path, text in unsaved.items():
            known = before.get(_key(path))
            self._open[_key(path)] = (
                known if known is not None and known.text == text else Document(text, path)
            )

    def load(self, path: str) -> Document | None:
        """A file by its path; None where there is none to read."""
        opened = self._open.get(_key(path))
        if opened is not None:
            return opened
        try:
            os.lstat(path)  # most of what imports may lead to is not there, and that is told soonest
            if not os.path.realpath(path).startswith(tuple(self._folders)):
                return None
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        stamp, known = (status.st_mtime_ns, status.st_size), self._read.get(path)
        if known is None or known[0] != stamp:
            known = self._read[path] = (stamp, _document(path))
        self._read.move_to_end(path)
        if len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return known[1]


def _key(path: str) -> str:
    return os.path.normcase(path).replace("\\", "/")


def _document(path: str) -> Document | None:
    data = read_regular(path, LARGEST)
    try:
        return Document.from_bytes(data, path) if data is not None else None
    except UndecodableSource:
        return None


def main(folders: Sequence[str]) -> None:
    """Reads for the process at the other end until that is gone."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_NICE)
    given, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(given, tasks), name="tasks", daemon=True).start()
    files = Files(folders)
    reading = Reading(files.load)
    try:
        _send(out, READY)
        while True:
            task = tasks.get()
            files.see(task.unsaved)
            reading.forget()
            try:
                _send(out, reading.read(task))
            except Exception:  # the other end says so in its log
                _send(out, traceback.format_exc())
    except OSError:
        sys.exit(0)  # nobody listens any more


def _listen(given: BinaryIO, tasks: queue.SimpleQueue[Task]) -> None:
    try:
        while True:
            tasks.put(pickle.load(given))
    finally:
        os._exit(0)  # also in the middle of a file


def _send(out: BinaryIO, found: object) -> None:
    out.write(pickle.dumps(found))
    out.flush()
