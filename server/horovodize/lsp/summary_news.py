"""Tells a client that shows what the workspace trains with when that may have changed, once for all that happened, when nothing
else is to be done. Only clients are told that ask for it as they start: `initializationOptions.workspaceSummary`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer
    from horovodize.workspace import FileSummary

CHANGED = "horovodize/workspaceSummaryChanged"
_OPTION = "workspaceSummary"


class SummaryNews:
    """What one client was told."""

    def __init__(self, server: HorovodizeServer, initialization_options: object = None) -> None:
        self._server = server
        self._wanted = (
            isinstance(initialization_options, Mapping) and initialization_options.get(_OPTION) is True
        )
        self._known: dict[str, FileSummary] = {}

    def changed(self) -> None:
        """Something of the workspace has changed."""
        if self._wanted:
            self._server.when_idle(CHANGED, lambda: self._server.protocol.notify(CHANGED, {}))

    def document_changed(self, uri: str) -> None:
        """An open document may have changed, or was closed; the client is told if what it trains with has."""
        if self._wanted:
            self._server.when_idle((CHANGED, uri), lambda: self._compare(uri))

    def _compare(self, uri: str) -> None:
        from horovodize.lsp.summaries import own_summary_of

        opened = self._server.session.get(uri)
        now = own_summary_of(self._server.session, opened) if opened is not None else None
        if self._known.get(uri) != now:
            if now is None:
                del self._known[uri]
            else:
                self._known[uri] = now
            self.changed()
