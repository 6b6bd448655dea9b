"""The files of a script's project on disk."""

from __future__ import annotations

import os
from pathlib import Path

from horovodize.files import read_regular
from horovodize.source import Document, UndecodableSource

_MARKS = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")  # what stands at the top of a project
_LARGEST = 20_000_000  # bytes of a module


class ProjectOnDisk:
    """The files that a script may import of its project: those below its top. That is the nearest folder above the script
    with a repository or a package's settings in it, else the current one, else the script's own."""

    def __init__(self, script: Path, known: dict[str, Document | None] | None = None) -> None:
        """`known`: files that were read before, and are not read again though they be written meanwhile."""
        self.script = Path(os.path.abspath(script))
        self._known = known if known is not None else {}
        self._top = os.path.realpath(top_of(self.script.parent))
        self._files: dict[str, Path] = {}

    def load(self, path: str) -> Document | None:
        """A file by its absolute path, called as the user would from the current folder."""
        if not os.path.realpath(path).startswith(self._top.rstrip(os.sep) + os.sep):
            return None
        if path not in self._known:
            self._known[path] = _read(path)
        document = self._known[path]
        if document is not None:
            self._files[document.path] = Path(path)
        return document

    def file(self, document: Document) -> Path:
        """Where a document of the project is."""
        return self._files.get(document.path, self.script)


def _read(path: str) -> Document | None:
    data = read_regular(path, _LARGEST)
    try:
        return Document.from_bytes(data, _shown(path)) if data is not None else None
    except (ValueError, UndecodableSource):
        return None


def top_of(folder: Path) -> Path:
    """The top of the project that a folder is in."""
    for above in (folder, *folder.parents):
        if any((above / mark).exists() for mark in _MARKS):
            return above
    here = Path.cwd()
    return here if here in folder.parents else folder


def _shown(path: str) -> str:
    """A path as messages call it: from the current folder, if the file is in it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
