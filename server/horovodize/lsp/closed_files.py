"""What is reported about files of the workspace that are not open, where the setting `diagnostics.closedFiles` is on.

Clients that ask for it do so by `workspace/diagnostic`, and are told when to ask again; others are sent it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.convert import to_closed_diagnostic
from horovodize.lsp.summaries import uri_of

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer
    from horovodize.workspace import Place

Reports = dict[str, list[types.Diagnostic]]


def reports_of(server: HorovodizeServer) -> Reports:
    """The diagnostics of the files that are not open and have some, by URI: their own, and what scripts that import them find
    in them."""
    found: dict[str, dict[tuple[str, Place], types.Diagnostic]] = {}
    session, background = server.session, server.index
    for folder in background.folders:
        for path, summary in background.summaries(folder.path):
            for restriction in summary.restrictions:
                file = restriction.place.file or path
                uri = uri_of(file)
                settings = background.settings_of(file)
                if (
                    session.get(uri) is None
                    and settings.closed_files
                    and settings.wants(restriction.code, restriction.name)
                ):
                    diagnostic = to_closed_diagnostic(restriction, session.encoding, session.client)
                    place = replace(restriction.place, file=file)
                    found.setdefault(uri, {}).setdefault((restriction.code, place), diagnostic)
    return {uri: list(by_place.values()) for uri, by_place in sorted(found.items())}


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
