"""The index of the workspace, made while nothing else is to be done: a few files at a time, so that every message is answered
at once. The client may show how far it is, and stop it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer
    from horovodize.workspace import Index
    from horovodize.workspace.index import Progress

_SLICE = 0.01  # seconds; one file may take longer
_TOKEN = "horovodize/index"


class BackgroundIndex:
    """The index of one connection. Nothing of it is loaded before a folder is there to be read."""

    def __init__(self, server: HorovodizeServer) -> None:
        self._server = server
        self._index: Index | None = None
        self._scans: dict[str, Iterator[Progress]] = {}
        self._token: str | None = None
        self._tokens = 0

    @property
    def index(self) -> Index | None:
        """The index as far as it is; None where there is nothing to be read."""
        return self._index

    @property
    def complete(self) -> bool:
        return not self._scans

    def follow(self, folders: list[str]) -> None:
        """Reads these folders, and no others any more."""
        known = self._index.folders if self._index is not None else []
        for gone in set(known) - set(folders):
            assert self._index is not None
            self._index.forget(gone)
            self._scans.pop(gone, None)
        new = [folder for folder in folders if folder not in known]
        if not new:
            return
        index = self._made()
        for folder in new:
            self._scans[folder] = index.scan(folder)
        self._begin()
        self._server.when_idle(self, self._go_on)

    def changed(self, path: str) -> None:
        """Reads one file again."""
        if self._index is not None:
            self._index.update(path)

    def _made(self) -> Index:
        from horovodize.workspace import Cache, Index

        if self._index is None:
            self._index = Index(Cache(), self._server.session.settings.options)
        return self._index

    def _go_on(self) -> None:
        """Takes the scans some steps further."""
        until = time.monotonic() + _SLICE
        while self._scans and time.monotonic() < until:
            folder, scan = next(iter(self._scans.items()))
            progress = next(scan, None)
            if progress is None or self._stopped():
                del self._scans[folder]
            elif progress.total and progress.done % 100 == 0:
                self._tell(types.WorkDoneProgressReport(percentage=100 * progress.done // progress.total))
        if self._scans:
            self._server.when_idle(self, self._go_on)
        else:
            self._tell(types.WorkDoneProgressEnd())
            self._token = None

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
