"""The Python files of some folders, and what each trains with, by itself or together with the files that it imports.

Work is done in small steps, taken when there is time (`steps`), and may be left off at any of them. A file that changes is
looked at again, and so are the scripts that import it. Knows nothing of editors: where an open buffer wins over the disk, the
loader and `changed` say so."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.files import lists, read_regular, walk
from horovodize.options import Options
from horovodize.source import Document, UndecodableSource
from horovodize.workspace.describe import describe, describe_script, place_in_project, summarize_file
from horovodize.workspace.file_summary import FileSummary, Restriction, State
from horovodize.workspace.glance import Glance, digest_of, glance_at
from horovodize.workspace.imports import Imports
from horovodize.workspace.neighbours import Neighbours

if TYPE_CHECKING:
    from horovodize.workspace.cache import Cache, Stamp  # whoever keeps nothing needs no database

_LARGEST = 2_000_000  # bytes
_STEP = 50  # files that are looked for, or glanced at, in one go
_JUST_NOW = 2_000_000_000  # nanoseconds: what was written so lately may be written again without a trace
_RULES_OF_FOLDERS = (".gitignore", "pyproject.toml")

Loader = Callable[[str], Document | None]


@dataclass(frozen=True)
class Progress:
    """How far the work is; `total` is None while files are still being looked for."""

    done: int
    total: int | None


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
    rules  what settings say of a file by its path"""

    def __init__(
        self,
        cache: Cache | None = None,
        load: Loader | None = None,
        rules: Callable[[str], Rules] | None = None,
    ) -> None:
        self._cache = cache
        self._load = load or _from_disk
        self._rules = rules or (lambda path: Rules(Options()))
        self._files: dict[str, dict[str, _Entry]] = {}  # by folder, by path
        self._held: dict[str, str | None] = {}  # what files hold that imports lead to
        self._written: dict[
            str, tuple[str | None, Sequence[str] | None]
        ] = {}  # what those import, by content
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
        return not (self._to_walk or self._to_look_at or self._to_read)

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

    def forget(self, folder: str) -> None:
        """Leaves a folder out from now on."""
        files = self._files.pop(folder, {})
        for path in list(files):
            self._remove(files, path)
        if folder in self._to_walk:
            self._to_walk.remove(folder)

    def look_again(self) -> None:
        """Which files belong to the folders, or what settings say of them, may have changed."""
        self._held.clear()
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
            if changed or self._to_read:
                glances = {p: e.glance for f in self._files.values() for p, e in f.items()}
                self._neighbours = Neighbours(glances)
                self._total = len(self._to_read)
                while self._to_read and not self._to_look_at and not self._to_walk:
                    path = next(iter(self._to_read))
                    del self._to_read[path]
                    self._read(path)
                    yield Progress(self._total - len(self._to_read), self._total)
        if self._cache is not None:
            self._cache.trim()

    def stop(self) -> None:
        """Leaves the rest undone: what is not known yet is found out when it changes."""
        self._to_walk.clear()
        self._to_look_at.clear()
        self._to_read.clear()

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
            if path.startswith(folder.rstrip(os.sep) + os.sep) and self._belongs(folder, path):
                self._glance(files, path, {})
        if self._entry(path) is not None and not os.path.exists(path):
            for files in self._files.values():
                self._remove(files, path)
        self._held.pop(path, None)
        if not self._imports.lead_to(path):
            return
        now = self._content(path)
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
            data = _bytes(path) if status.st_size <= _LARGEST else b""
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

    def _read(self, path: str) -> None:
        """Finds out what a file trains with."""
        entry = self._entry(path)
        if entry is None:
            return
        glance, options = entry.glance, self._rules(path).options
        own = self._own(path, glance, options)
        if self._neighbours.may_run_others(path, glance, trains=bool(own.loops)):
            entry.summary = self._together(path, options, glance, own) or own
        else:
            entry.summary = own
            self._imports.forget(path)

    def _own(self, path: str, glance: Glance, options: Options) -> FileSummary:
        """The summary of a file by itself."""
        if not glance.tensorflow:
            return FileSummary()
        known = self._cache.get(glance.digest, options) if self._cache is not None else None
        if known is not None:
            return known
        data = _bytes(path)
        if data is None:
            return FileSummary()
        summary = summarize_file(data, path, options)
        if self._cache is not None and digest_of(data) == glance.digest:
            self._cache.put(glance.digest, options, summary)
        return summary

    def _together(self, path: str, options: Options, glance: Glance, own: FileSummary) -> FileSummary | None:
        """The summary of a script together with what it imports; None where it can't be read. `own` is that of the file on
        disk, and only that: the user may see another text."""
        if self._cache is not None and (known := self._cache.get_script(path, options)) is not None:
            asked, summary = known
            if all(self._content(other) == content for other, content in asked.items()):
                self._imports.keep(path, asked)
                return summary
        script = self._load(path)
        if script is None:
            return None
        from horovodize.distribute_project import Examination
        from horovodize.restrictions import check

        asked = {path: self._content(path)}

        def load(other: str) -> Document | None:
            asked[other] = self._content(other)
            return self._load(other) if asked[other] is not None else None

        def alone() -> FileSummary:
            if asked[path] == glance.digest:
                return own
            return describe(examined.alone, check(examined.alone, options), options, place_in_project)

        try:
            examined = Examination(script, load, options, imports=self._imports_in)
            examined.read()
            summary = describe_script(examined, alone, options, place_in_project)
        except RecursionError:
            summary = FileSummary(State.UNREADABLE, "the code is nested too deeply to be followed")
        self._imports.keep(path, asked)
        if self._cache is not None:
            self._cache.put_script(path, options, asked, summary)
        return summary

    def _imports_in(self, document: Document) -> Sequence[str] | None:
        """What a file may import, found out once for each content."""
        from horovodize.summary.project import imports_of

        content = self._content(document.path)
        known = self._written.get(document.path)
        if known is None or known[0] != content:
            known = self._written[document.path] = (content, imports_of(document))
        return known[1]

    def _content(self, path: str) -> str | None:
        """What tells one content of a file from another, as the user sees it; None: there is none."""
        if path not in self._held:
            document = self._load(path)
            text = document.text.encode("utf-8", "surrogatepass") if document is not None else None
            self._held[path] = digest_of(text) if text is not None else None
        return self._held[path]

    def _remove(self, files: dict[str, _Entry], path: str) -> None:
        """A file is there no more."""
        entry = files.pop(path, None)
        if entry is not None and self._entry(path) is None:
            self._imports.forget(path)
            self._to_read.pop(path, None)

    def _entry(self, path: str) -> _Entry | None:
        return next((files[path] for files in self._files.values() if path in files), None)

    def _around(self, path: str) -> str | None:
        """A folder of the index that a path lies in."""
        return next((f for f in self._files if path.startswith(f.rstrip(os.sep) + os.sep)), None)


def _folders_of(path: str) -> Iterator[str]:
    """The folders around a file, innermost first."""
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _bytes(path: str) -> bytes | None:
    return read_regular(path, _LARGEST)


def _from_disk(path: str) -> Document | None:
    data = _bytes(path)
    if data is None:
        return None
    try:
        return Document.from_bytes(data, path)
    except UndecodableSource:
        return None
