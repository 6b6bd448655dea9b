"""What is reported about files of the workspace that are not open, where the setting `diagnostics.closedFiles` is on.

Clients that ask for it do so by `workspace/diagnostic`, and are told when to ask again; others are sent it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.convert import to_closed_diagnostic
from horovodize.lsp.summaries import uri_of

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

Reports = dict[str, list[types.Diagnostic]]


def reports_of(server: HorovodizeServer) -> Reports:
    """The diagnostics of the files that are not open and have some, by URI: their own, and what scripts that import them find
    in them."""
    found: Reports = {}
    session, background = server.session, server.index
    for path in background.files():
        uri, settings = uri_of(session, path), background.settings_of(path)
        if settings.closed_files and session.get(uri) is None:
            diagnostics = [
                to_closed_diagnostic(restriction, session.encoding, session.client)
                for restriction in background.restrictions_in(path)
                if settings.wants(restriction.code, restriction.name)
            ]
            if diagnostics:
                found[uri] = diagnostics
    return found


class ClosedFiles:
    """What one client knows of the files that are not open."""

    def __init__(self, server: HorovodizeServer) -> None:
        self._server = server
        self._sent: Reports = {}

    def changed(self) -> None:
        """What is known of the workspace, what is open, or a setting has changed."""
        if self._sent or self._server.configuration.closed_files:
            self._server.when_idle("closed files", self._tell)

    def _tell(self) -> None:
        before, now = self._sent, reports_of(self._server)
        if now == before:
            return
        self._sent = now
        if self._server.session.client.pulls_diagnostics:
            self._server.workspace_diagnostic_refresh(None)
            return
        for uri in before.keys() | now.keys():
            if before.get(uri) != now.get(uri) and self._server.session.get(uri) is None:
                self._server.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(uri, now.get(uri, []))
                )
