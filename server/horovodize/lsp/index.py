"""The index of the workspace, made while nothing else is to be done: a few files at a time, so that every message is answered
at once. The client may show how far it is, and stop it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.project_files import Folder

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer
    from horovodize.lsp.session import OpenDocument
    from horovodize.workspace import FileSummary, Index
    from horovodize.workspace.index import Progress

_SLICE = 0.01  # seconds; one file may take longer
_TOKEN = "horovodize/index"


class BackgroundIndex:
    """The index of one connection. Nothing of it is loaded before a folder is there to be read."""

    def __init__(self, server: HorovodizeServer) -> None:
        self._server = server
        self._index: Index | None = None
        self._scans: dict[str, Iterator[Progress]] = {}
        self._changed: dict[str, None] = {}  # files to be read again, in the order in which that was heard
        self._token: str | None = None
        self._tokens = 0
        self.folders: list[Folder] = []

    def summaries(self, folder: str) -> list[tuple[str, FileSummary]]:
        """The files of a folder that train or can't be read, by path, as far as they are known."""
        return self._index.modules(folder) if self._index is not None else []

    def holds(self, folder: str, opened: OpenDocument) -> bool:
        """Whether an open document belongs to a folder, and no setting leaves it out."""
        path = opened.path
        inside = path is not None and path.startswith(folder.rstrip(os.sep) + os.sep)
        return inside and self._index is not None and not self._index.excludes(folder, path or "")

    @property
    def complete(self) -> bool:
        return not self._scans and not self._changed

    def follow(self, folders: Sequence[Folder]) -> None:
        """Reads these folders, and no others any more."""
        self.folders = list(folders)
        paths = [folder.path for folder in folders]
        known = self._index.folders if self._index is not None else []
        for gone in set(known) - set(paths):
            assert self._index is not None
            self._index.forget(gone)
            self._scans.pop(gone, None)
        new = [path for path in paths if path not in known]
        if not new:
            return
        index = self._made()
        for folder in new:
            self._scans[folder] = index.scan(folder)
        self._begin()
        self._server.when_idle(self, self._go_on)

    def changed(self, path: str) -> None:
        """Reads one file again, as soon as nothing else is to be done: many may change at once."""
        if self._index is not None:
            self._changed[path] = None
            self._server.when_idle(self, self._go_on)

    def make_anew(self) -> None:
        """Forgets everything, on disk, too, and reads the folders again."""
        from horovodize.workspace import Cache

        self._scans.clear()
        self._changed.clear()
        self._index = None
        cache = Cache()
        cache.clear()
        cache.close()
        self.follow(self.folders)

    def _made(self) -> Index:
        from horovodize.workspace import Cache, Index

        settings = self._server.session.settings
        if self._index is None:
            self._index = Index(Cache(), settings.options, settings.exclude or ())
        return self._index

    def _go_on(self) -> None:
        """Reads some of the files that changed, then takes the scans some steps further."""
        try:
            self._read_some()
        finally:  # a fault at one file must not be the end of it
            if not self.complete:
                self._server.when_idle(self, self._go_on)
            else:
                self._tell(types.WorkDoneProgressEnd())
                self._token = None
                self._server.news.changed()

    def _read_some(self) -> None:
        until = time.monotonic() + _SLICE
        while self._changed and time.monotonic() < until:
            path = next(iter(self._changed))
            del self._changed[path]
            if self._index is not None:
                self._index.update(path)
        while self._scans and time.monotonic() < until:
            folder, scan = next(iter(self._scans.items()))
            progress = next(scan, None)
            if progress is None or self._stopped():
                del self._scans[folder]
            elif progress.total and progress.done % 100 == 0:
                self._tell(types.WorkDoneProgressReport(percentage=100 * progress.done // progress.total))

    # ------------------------------------------------------------------ progress

    def _begin(self) -> None:
        if not self._server.session.client.shows_progress or self._token is not None:
            return
        self._tokens += 1
        token = f"{_TOKEN}/{self._tokens}"

        def created(_: object) -> None:
            if self._scans:
                self._token = token
                self._server.work_done_progress.tokens[token] = (
                    Future()
                )  # pygls cancels it when the client asks
                self._tell(
                    types.WorkDoneProgressBegin("Indexing training loops", cancellable=True, percentage=0)
                )

        self._server.window_work_done_progress_create(types.WorkDoneProgressCreateParams(token), created)

    def _stopped(self) -> bool:
        future = self._server.work_done_progress.tokens.get(self._token) if self._token else None
        return future is not None and future.cancelled()

    def _tell(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        if self._token is not None:
            self._server.progress(types.ProgressParams(self._token, value))
