"""Files of a script's project on disk, and writing several of them as one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.runner import CommandError
from horovodize.cli.write import write_atomically
from horovodize.files import read_regular
from horovodize.source import Document, UndecodableSource

if TYPE_CHECKING:
    from horovodize.plan import Plan

_MARKS = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")  # what stands at the top of a project
_LARGEST = 20_000_000  # bytes of a module


class ProjectOnDisk:
    """The files that a script may import of its project: those below its top. That is the nearest folder above the script
    with a repository or a package's settings in it, else the current one, else the script's own."""

    def __init__(self, script: Path, known: dict[str, Document | None] | None = None) -> None:
        """`known`: files that were read before, and are not read again though they be written meanwhile."""
        self.script = Path(os.path.abspath(script))
        self._known = known if known is not None else {}
        self._top = os.path.realpath(_top(self.script.parent))
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


@dataclass(frozen=True)
class NewContent:
    """What a file shall hold, and what it held when it was read."""

    path: Path
    old: bytes
    new: bytes


def new_contents(plans: Sequence[Plan], project: ProjectOnDisk) -> list[NewContent]:
    """What the files shall hold. Raises UndecodableSource for characters that a file's encoding does not have."""
    return [
        NewContent(project.file(p.document), p.document.edited([]), p.document.edited(p.edits))
        for p in plans
        if p.edits
    ]


def write_together(contents: Sequence[NewContent]) -> None:
    """Writes all files or, as far as possible, none: half a project distributed would train wrongly. Raises CommandError."""
    for content in contents:
        with contextlib.suppress(OSError):
            if content.path.read_bytes() != content.old:
                raise CommandError(
                    f"{content.path}: was changed by someone else meanwhile; nothing was written"
                )
    written: list[NewContent] = []
    try:
        for content in contents:
            write_atomically(content.path, content.new, expected=content.old)
            written.append(content)
    except CommandError:
        for content in written:
            with contextlib.suppress(CommandError):
                write_atomically(content.path, content.old, expected=content.new)
        raise


def _read(path: str) -> Document | None:
    data = read_regular(path, _LARGEST)
    try:
        return Document.from_bytes(data, _shown(path)) if data is not None else None
    except (ValueError, UndecodableSource):
        return None


def _top(folder: Path) -> Path:
    for above in (folder, *folder.parents):
        if any((above / mark).exists() for mark in _MARKS):
            return above
    here = Path.cwd()
    return here if here in folder.parents else folder


def _shown(path: str) -> str:
    """A path as messages call it: from the current folder, if the file is in it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
