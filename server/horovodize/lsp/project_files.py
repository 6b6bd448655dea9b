"""The files of a project as the user sees them: open buffers first, then the disk, and of that only the workspace's folders."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from pygls.uris import from_fs_path, to_fs_path

from horovodize.paths import below, is_below
from horovodize.source import Document, UndecodableSource

if TYPE_CHECKING:
    from pygls.workspace import Workspace

    from horovodize.lsp.session import OpenDocument

# What tells one state of a file from another: of a buffer its version, of a file on disk when it was written and its size.
Stamp: TypeAlias = tuple[str, int, int] | None
_LARGEST = 2_000_000  # bytes
_KEPT = 150  # documents, those that were asked for last: more than most scripts import


@dataclass(frozen=True)
class Folder:
    """A folder of the workspace that is on disk; `uri` and `name` as the client has them."""

    uri: str
    name: str
    path: str


def folders_of(workspace: Workspace) -> list[Folder]:
    """The folders of a workspace that are on disk."""
    known = [(folder.uri, folder.name) for folder in workspace.folders.values()]
    if not known and workspace.root_uri:
        known = [(workspace.root_uri, "")]
    return [
        Folder(uri, name or os.path.basename(path.rstrip(os.sep)), path)
        for uri, name in known
        if uri.startswith("file:") and (path := to_fs_path(uri))
    ]


class DiskFiles:
    """Files on disk inside some folders. What links lead to outside of them is not there."""

    def __init__(self) -> None:
        self._folders: list[str] = []
        self._given: list[Folder] = []
        self._read: OrderedDict[str, tuple[Stamp, Document | None]] = OrderedDict()

    def serve(self, folders: Iterable[Folder]) -> None:
        """The folders to read in from now on."""
        folders = list(folders)
        self._given = folders
        self._folders = [os.path.realpath(folder.path) for folder in folders]

    def stamp(self, path: str) -> Stamp:
        """The state of a file; None where there is none to read."""
        if not os.path.isabs(path):
            return None
        try:
            os.lstat(path)  # most of what imports may lead to is not there, and that is told soonest
            if not self._holds(path):
                return None
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        return ("disk", status.st_mtime_ns, status.st_size) if status.st_size <= _LARGEST else None

    def load(self, path: str) -> Document | None:
        return self.load_as(path, self.stamp(path))

    def load_as(self, path: str, stamp: Stamp) -> Document | None:
        """The document of a file whose state is known to be `stamp`."""
        if stamp is None:
            return None
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = self._read[path] = (stamp, _read(path))
        self._read.move_to_end(path)
        if len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return known[1]

    def uri_of(self, path: str) -> str:
        """The URI of a file: below that of its folder, which clients write in different ways."""
        for folder in self._given:
            if (rest := below(path, folder.path)) is not None:
                return f"{folder.uri.rstrip('/')}/{quote(rest)}"
        return from_fs_path(path) or path

    def _holds(self, path: str) -> bool:
        real = os.path.realpath(path)
        return any(is_below(real, folder) for folder in self._folders)


class ProjectFiles:
    """What a script's project is read from. Remembers what was asked for, so that it can be told whether that still holds."""

    def __init__(self, documents: Sequence[OpenDocument], disk: DiskFiles) -> None:
        self._open = {_key(opened.document.path): opened for opened in documents}
        self._disk = disk
        self.asked: dict[str, Stamp] = {}

    def load(self, path: str) -> Document | None:
        stamp = self.asked[path] = self.stamp(path)
        opened = self._open.get(_key(path))
        return opened.document if opened is not None else self._disk.load_as(path, stamp)

    def stamp(self, path: str) -> Stamp:
        opened = self._open.get(_key(path))
        return (
            ("open", opened.version, hash(opened.document)) if opened is not None else self._disk.stamp(path)
        )

    def unchanged(self, asked: dict[str, Stamp]) -> bool:
        """Whether all files are still as they were when they were asked for."""
        return all(self.stamp(path) == stamp for path, stamp in asked.items())

    def open_as(self, document: Document) -> OpenDocument | None:
        """The buffer that a document is the text of; None where it comes from the disk."""
        opened = self._open.get(_key(document.path))
        return opened if opened is not None and opened.document is document else None


def _read(path: str) -> Document | None:
    from horovodize.files import read_regular  # the first answer does not need it

    data = read_regular(path, _LARGEST)
    try:
        return Document.from_bytes(data, path) if data is not None else None
    except UndecodableSource:
        return None


def _key(path: str) -> str:
    return os.path.normcase(path).replace("\\", "/")
