"""The Python files of some folders, and what is known of each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from horovodize.files import Exclude, lists, read_regular, walk
from horovodize.options import Options
from horovodize.workspace.cache import Cache
from horovodize.workspace.describe import summarize_file
from horovodize.workspace.file_summary import FileSummary
from horovodize.workspace.glance import mentions_tensorflow

_LARGEST = 2_000_000  # bytes
_STEP = 50  # files that are looked for in one go


@dataclass(frozen=True)
class Progress:
    """How far a scan is; `total` is None while files are still being looked for."""

    done: int
    total: int | None


class Index:
    """What is known of the files in folders. Files that do not train are known to be there, and no more."""

    def __init__(
        self, cache: Cache | None = None, options: Options | None = None, exclude: Sequence[str] = ()
    ) -> None:
        self.options = options or Options()
        self._cache = cache
        self._exclude = exclude
        self._folders: dict[str, dict[str, FileSummary]] = {}

    @property
    def folders(self) -> list[str]:
        return list(self._folders)

    def scan(self, folder: str) -> Iterator[Progress]:
        """Reads a folder file by file; the work is done as the steps are taken, and may be left off at any of them."""
        known: dict[str, FileSummary] = {}
        self._folders[folder] = known
        return self._scan(folder, known)

    def _scan(self, folder: str, known: dict[str, FileSummary]) -> Iterator[Progress]:
        paths: list[str] = []
        for found in walk(Path(folder)):
            if found.suffix == ".py" and not self.excludes(folder, str(found)):
                paths.append(str(found))
                if len(paths) % _STEP == 0:
                    yield Progress(0, None)
        for done, path in enumerate(paths):
            yield Progress(done, len(paths))
            if self._folders.get(folder) is not known:
                return
            self._read(known, path)
        if self._cache is not None:
            self._cache.trim()
        yield Progress(len(paths), len(paths))

    def forget(self, folder: str) -> None:
        """Leaves a folder out from now on."""
        self._folders.pop(folder, None)

    def update(self, path: str) -> None:
        """Reads a file again that was made, changed or deleted, wherever it belongs."""
        for folder, known in self._folders.items():
            if path.startswith(folder.rstrip(os.sep) + os.sep) and path.endswith(".py"):
                known.pop(path, None)
                if not self.excludes(folder, path) and lists(Path(folder), Path(path)):
                    self._read(known, path)

    def modules(self, folder: str) -> list[tuple[str, FileSummary]]:
        """The files of a folder that are about TensorFlow and train or can't be read, by path."""
        return sorted((p, s) for p, s in self._folders.get(folder, {}).items() if s.counts)

    def _read(self, known: dict[str, FileSummary], path: str) -> None:
        data = read_regular(path, _LARGEST)
        if data is None or not mentions_tensorflow(data):
            return
        summary = self._cache.get(data, self.options) if self._cache is not None else None
        if summary is None:
            summary = summarize_file(data, path, self.options)
            if self._cache is not None:
                self._cache.put(data, self.options, summary)
        known[path] = summary

    def excludes(self, folder: str, path: str) -> bool:
        """Whether a setting leaves a file out."""
        return Exclude(self._exclude, folder)(path)
