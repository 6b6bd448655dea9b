"""The Python files of some folders, and what each trains with, by itself or together with the files that it imports.

Work is done in small steps, taken when there is time (`steps`), and may be left off at any of them. A file that changes is
looked at again, and so are the scripts that import it. Knows nothing of editors: where an open buffer wins over the disk, the
loader and `changed` say so."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.files import lists, read_regular, walk
from horovodize.options import Options
from horovodize.paths import is_below
from horovodize.source import Document, UndecodableSource
from horovodize.workspace.file_summary import FileSummary, Restriction, State
from horovodize.workspace.glance import Glance, glance_at
from horovodize.workspace.imports import Imports
from horovodize.workspace.neighbours import Neighbours
from horovodize.workspace.reading import LARGEST, Found, Loader, Reading, Task

if TYPE_CHECKING:
    from horovodize.workspace.cache import Cache, Stamp  # whoever keeps nothing needs no database
    from horovodize.workspace.workers import Workers

_TRIES = 3  # a file that changes again and again is then read in this process
_STEP = 10  # files that are looked for, or glanced at, in one go
_JUST_NOW = 2_000_000_000  # nanoseconds: what was written so lately may be written again without a trace
_RULES_OF_FOLDERS = (".gitignore", "pyproject.toml")

_GAVE_UP = "it could not be read: the process that read it came to an end, twice"


@dataclass(frozen=True)
class Progress:
    """How far the work is; `total` is None while files are still being looked for. `waits`: only for other processes."""

    done: int
    total: int | None
    waits: bool = False


@dataclass(frozen=True)
class Rules:
    """What settings say of a file."""

    options: Options
    excluded: bool = False


class _Entry:
    """One file. `summary` is None until it is known."""

    __slots__ = ("glance", "stamp", "summary")

    def __init__(self, stamp: Stamp, glance: Glance) -> None:
        self.stamp, self.glance = stamp, glance
        self.summary: FileSummary | None = None


class Index:
    """What is known of the files in folders.

    cache  what was found out earlier; None: nothing is kept
    load   a file of the project by its path, as the user sees it now; None: as it is on disk
    rules  what settings say of a file by its path
    open_files  the documents that are open, by path, read first: the texts of those that are not saved
    workers     makes the processes that read files of some folders; None, also of it: they are read in this one"""

    def __init__(
        self,
        cache: Cache | None = None,
        load: Loader | None = None,
        rules: Callable[[str], Rules] | None = None,
        open_files: Callable[[], dict[str, str | None]] | None = None,
        workers: Callable[[list[str]], Workers | None] | None = None,
    ) -> None:
        self._cache = cache
        self._reading = Reading(load or _from_disk)
        self._open_files = open_files or dict
        self._make_workers = workers
        self._workers: Workers | None = None
        self._given: dict[str, Task] = {}  # what workers are reading, by path
        self._misread: Counter[str] = Counter()  # how often a worker has read a file otherwise than it is
        self._lost: set[str] = set()  # files whose worker came to an end
        self._rules = rules or (lambda path: Rules(Options()))
        self._files: dict[str, dict[str, _Entry]] = {}  # by folder, by path
        self._imports = Imports()
        self._to_walk: deque[str] = deque()
        self._to_look_at: deque[str] = deque()
        self._to_read: dict[str, None] = {}  # in order
        self._neighbours = Neighbours()
        self._total = 0

    # ------------------------------------------------------------------ what is known

    @property
    def folders(self) -> list[str]:
        return list(self._files)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to be done."""
        return not (self._to_walk or self._to_look_at or self._to_read or self._given)

    def summaries(self, folder: str) -> list[tuple[str, FileSummary]]:
        """The files of a folder that train or can't be read, by path."""
        files = self._files.get(folder, {})
        return sorted((p, e.summary) for p, e in files.items() if e.summary is not None and e.summary.counts)

    def summary(self, path: str) -> FileSummary | None:
        """What is known of a file; None where it is not known (yet)."""
        entry = self._entry(path)
        return entry.summary if entry is not None else None

    def restrictions_in(self, path: str) -> list[Restriction]:
        """What is found in a file: by itself, where no script runs it; else together with the scripts that run it."""
        entry = self._entry(path)
        own = entry.summary.restrictions if entry is not None and entry.summary is not None else ()
        scripts = [s for asker in self.askers(path) - {path} if (s := self.summary(asker)) is not None]
        elsewhere = [r for s in scripts for r in s.restrictions if r.place.file == path]
        ran = [lines for s in scripts for file, found in s.ran if file == path for lines in found]
        alone = [
            r
            for r in own
            if r.place.file in ("", path)
            and not any(first <= r.place.start.line <= last for first, last in ran)
        ]
        return list(dict.fromkeys(replace(r, place=replace(r.place, file="")) for r in (*alone, *elsewhere)))

    def in_project(self, path: str, summary: FileSummary) -> FileSummary:
        """A file's summary without what is found by looking at it alone and settled by the scripts that run it: with one of
        them it can be distributed, or is, though it can't be by itself."""
        if not self.askers(path) - {path}:
            return summary
        elsewhere = tuple(r for r in summary.restrictions if r.place.file not in ("", path))
        settled = replace(summary, restrictions=(*self.restrictions_in(path), *elsewhere))
        states = [s.state for asker in self.runners(path) if (s := self.summary(asker)) is not None]
        better = next((s for s in (State.DISTRIBUTABLE, State.DISTRIBUTED) if s in states), None)
        if better is None or summary.state is not State.BLOCKED:
            return settled
        return replace(settled, state=better, problem="")

    def runners(self, path: str) -> list[str]:
        """The scripts that train and run a file, by path."""
        askers = sorted(self.askers(path) - {path})
        summaries = [(asker, self.summary(asker)) for asker in askers]
        return [a for a, summary in summaries if summary and any(file == path for file, _ in summary.ran)]

    def holds(self, path: str) -> bool:
        """Whether a file is one of the folders' that is neither ignored nor excluded."""
        return self._entry(path) is not None

    def may_run_others(self, path: str, *, trains: bool) -> bool:
        """Whether a file may train with what it imports, as far as is known. `trains`: it has a loop of its own."""
        entry = self._entry(path)
        return entry is not None and self._neighbours.may_run_others(path, entry.glance, trains=trains)

    def askers(self, path: str) -> set[str]:
        """The scripts whose imports lead to a file."""
        return self._imports.askers(path)

    # ------------------------------------------------------------------ what is told

    def add(self, folder: str) -> None:
        """Takes a folder in."""
        if folder not in self._files:
            self._files[folder] = {}
            self._to_walk.append(folder)
            self.rest()  # they would not read there

    def forget(self, folder: str) -> None:
        """Leaves a folder out from now on."""
        files = self._files.pop(folder, {})
        for path in list(files):
            self._remove(files, path)
        if folder in self._to_walk:
            self._to_walk.remove(folder)

    def look_again(self) -> None:
        """Which files belong to the folders, or what settings say of them, may have changed."""
        self._reading.forget()
        for folder, files in self._files.items():
            if folder not in self._to_walk:
                self._to_walk.append(folder)
            for path in files:
                self._to_read[path] = None

    def changed(self, paths: Iterable[str]) -> bool:
        """Files were made, changed, renamed or deleted, on disk or in a buffer; a folder stands for all that is in it. Whether
        that matters here."""
        wanted = dict.fromkeys(  # by `..`, a path might lead out of a folder
            p for p in map(os.path.normpath, paths) if self._imports.lead_to(p) or self._around(p) is not None
        )
        rules = [p for p in wanted if os.path.basename(p) in _RULES_OF_FOLDERS]
        folders = {p for p in wanted if not p.endswith(".py") and p not in rules}
        before = len(self._to_look_at)
        waiting = set(self._to_look_at)
        inside = (
            p for files in self._files.values() for p in files if not folders.isdisjoint(_folders_of(p))
        )
        for path in (*(p for p in wanted if p.endswith(".py")), *(inside if folders else ())):
            if path not in waiting:
                waiting.add(path)
                self._to_look_at.append(path)
        if rules:
            self.look_again()
        for folder in {self._around(path) for path in folders if os.path.isdir(path)}:  # moved to here
            if folder is not None and folder not in self._to_walk:
                self._to_walk.append(folder)
        return len(self._to_look_at) > before or not self.idle

    # ------------------------------------------------------------------ the work

    def steps(self) -> Iterator[Progress]:
        """Does what is to be done, until nothing is."""
        while not self.idle:
            while self._to_walk:
                yield from self._walk(self._to_walk.popleft())
            changed = len(self._to_look_at) > 0
            while self._to_look_at:
                self._look_at(self._to_look_at.popleft())
                yield Progress(0, None)
            if changed or self._to_read or self._given:
                glances = {p: e.glance for f in self._files.values() for p, e in f.items()}
                self._neighbours = Neighbours(glances)
                self._total = len(self._to_read) + len(self._given)
                while (self._to_read or self._given) and not self._to_look_at and not self._to_walk:
                    waits = yield from self._read_some()
                    yield Progress(
                        self._total - len(self._to_read) - len(self._given), self._total, waits=waits
                    )
        if self._cache is not None:
            self._cache.trim()

    def wait(self, seconds: float) -> None:
        """Until there is more to be done, but no longer than so."""
        if self._workers is not None:
            self._workers.wait(seconds)

    def rest(self) -> None:
        """Ends the processes that read files; they are started again for the next ones."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None
        self._to_read.update(dict.fromkeys(self._given))
        self._given.clear()

    def stop(self) -> None:
        """Leaves the rest undone: what is not known yet is found out when it changes."""
        self._to_walk.clear()
        self._to_look_at.clear()
        self._to_read.clear()
        self._given.clear()

    def _walk(self, folder: str) -> Iterator[Progress]:
        """Finds the files of a folder, and glances at those that are new or were written since."""
        files = self._files.get(folder)
        if files is None:
            return
        cached = self._cache.glances(folder) if self._cache is not None else {}
        found: set[str] = set()
        for count, at in enumerate(walk(Path(folder))):
            if self._files.get(folder) is not files:
                return
            path = str(at)
            if path.endswith(".py") and not self._rules(path).excluded:
                found.add(path)
                self._glance(files, path, cached)
            if count % _STEP == _STEP - 1:
                yield Progress(0, None)
        for gone in files.keys() - found:
            self._remove(files, gone)
        yield Progress(0, None)

    def _look_at(self, path: str) -> None:
        """Looks at a file that may have changed, and has the scripts that import it read again if it has."""
        for folder, files in self._files.items():
            if is_below(path, folder) and self._belongs(folder, path):
                self._glance(files, path, {})
        if self._entry(path) is not None and not os.path.exists(path):
            for files in self._files.values():
                self._remove(files, path)
        self._reading.forget(path)
        if not self._imports.lead_to(path):
            return
        now = self._reading.content(path)
        for script in self._imports.askers(path):
            if self._entry(script) is not None and self._imports.asked(script).get(path) != now:
                self._to_read[script] = None

    def _belongs(self, folder: str, path: str) -> bool:
        """Whether a file is one that walking the folder finds."""
        return path in self._files[folder] or (
            not self._rules(path).excluded and lists(Path(folder), Path(path))
        )

    def _glance(self, files: dict[str, _Entry], path: str, cached: dict[str, tuple[Stamp, Glance]]) -> None:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return
        stamp = (status.st_mtime_ns, status.st_size)
        known = files.get(path)
        if known is not None and known.stamp == stamp:
            return
        before = cached.get(path)
        if before is not None and before[0] == stamp:
            glance = before[1]
        else:
            data = _bytes(path) if status.st_size <= LARGEST else b""
            if data is None:
                return
            glance = glance_at(data)
            if self._cache is not None and time.time_ns() - status.st_mtime_ns > _JUST_NOW:
                self._cache.put_glance(path, stamp, glance)
        if known is not None and known.glance == glance:
            known.stamp = stamp
            return
        self._imports.forget(path)
        files[path] = _Entry(stamp, glance)
        self._to_read[path] = None

    # ------------------------------------------------------------------ reading

    def _read_some(self) -> Generator[Progress, None, bool]:
        """Reads the next file, or hands some out and takes back what is found. Whether there is nothing to do but to wait."""
        taken = self._workers.taken() if self._workers is not None else None
        if taken is not None:
            yield from self._take(*taken)
            return False
        if not self._to_read or (self._workers is not None and not self._workers.has_room):
            return True
        task = self._begun(self._next())
        if task is None:
            return False
        if self._misread[task.path] >= _TRIES or not self._has_workers():
            self._finish(task, self._reading.read(task))
        else:
            assert self._workers is not None
            unsaved = {path: text for path, text in self._open_files().items() if text is not None}
            self._given[task.path] = task = replace(task, unsaved=unsaved)
            self._workers.give(task)
        return False

    def _next(self) -> str:
        """What is to be read next: open files before others."""
        path = next((p for p in self._open_files() if p in self._to_read), None) or next(iter(self._to_read))
        del self._to_read[path]
        return path

    def _has_workers(self) -> bool:
        if self._workers is None and self._make_workers is not None:
            self._workers = self._make_workers(self.folders)
        return self._workers is not None

    def _take(self, task: Task, found: Found | Exception) -> Iterator[Progress]:
        """Takes what a worker has found, if that is still asked, and what it has read is still so."""
        if self._given.get(task.path) is not task:
            return
        del self._given[task.path]
        if isinstance(found, Found):
            for path, content in found.asked.items():
                if self._reading.content(path) != content:
                    self._misread[task.path] += 1
                    self._to_read[task.path] = None
                    return
                yield Progress(0, None)
            del self._misread[task.path]
            self._finish(task, found)
            return
        from horovodize.workspace.workers import Lost, Unstartable

        if isinstance(found, Unstartable):
            self._make_workers = None
            self.rest()
            self._to_read[task.path] = None
        elif isinstance(found, Lost):
            self._lose(task)
        else:
            raise found

    def _lose(self, task: Task) -> None:
        """The process that read a file came to an end: by chance, or by that file, which this process had better not read."""
        if task.path not in self._lost:
            self._lost.add(task.path)
            self._to_read[task.path] = None
            return
        entry = self._entry(task.path)
        if entry is not None:
            entry.summary = task.own or FileSummary(State.UNREADABLE, _GAVE_UP)

    def _begun(self, path: str) -> Task | None:
        """What is to be found out about a file; None where all is known by now."""
        entry = self._entry(path)
        if entry is None:
            return None
        glance, options = entry.glance, self._rules(path).options
        own = self._known(glance, options)
        alone, training = (
            self._neighbours.may_run_others(path, glance, trains=trains) for trains in (False, True)
        )
        task = Task(path, options, glance, own, alone, training)
        if own is None:
            return task
        if not (training if own.loops else alone):
            self._finish(task, Found(own, is_news=False))
            return None
        if self._cache is not None and (known := self._cache.get_script(path, options)) is not None:
            asked, entry_summary = known
            if all(self._reading.content(other) == content for other, content in asked.items()):
                self._imports.keep(path, asked)
                entry.summary = entry_summary
                return None
        return task

    def _known(self, glance: Glance, options: Options) -> FileSummary | None:
        """What is known of a file by itself."""
        if not glance.tensorflow:
            return FileSummary()
        return self._cache.get(glance.digest, options) if self._cache is not None else None

    def _finish(self, task: Task, found: Found) -> None:
        """Keeps what was found out about a file, unless it is to be read again."""
        entry = self._entry(task.path)
        if entry is None or entry.glance != task.glance or task.path in self._to_read:
            return
        if self._cache is not None and found.is_news:
            self._cache.put(task.glance.digest, task.options, found.own)
        entry.summary = found.together or found.own
        if found.together is None:
            self._imports.forget(task.path)
            return
        self._imports.keep(task.path, found.asked)
        if self._cache is not None:
            self._cache.put_script(task.path, task.options, found.asked, found.together)

    def _remove(self, files: dict[str, _Entry], path: str) -> None:
        """A file is there no more."""
        entry = files.pop(path, None)
        if entry is not None and self._entry(path) is None:
            self._imports.forget(path)
            self._to_read.pop(path, None)
            self._given.pop(path, None)

    def _entry(self, path: str) -> _Entry | None:
        return next((files[path] for files in self._files.values() if path in files), None)

    def _around(self, path: str) -> str | None:
        """A folder of the index that a path lies in."""
        return next((f for f in self._files if is_below(path, f)), None)


def _folders_of(path: str) -> Iterator[str]:
    """The folders around a file, innermost first."""
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _bytes(path: str) -> bytes | None:
    return read_regular(path, LARGEST)


def _from_disk(path: str) -> Document | None:
    data = _bytes(path)
    if data is None:
        return None
    try:
        return Document.from_bytes(data, path)
    except UndecodableSource:
        return None
