"""What hovers, code actions and code lenses are going to need is worked out while nobody types: rule by rule, so that a
message waits for one rule at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from horovodize.lsp.refresh import refresh_lenses_and_hints

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

_QUIET = 0.15  # seconds without a change; editors wait longer than that before they ask for a hover or for code actions


def prepare(server: HorovodizeServer, uri: str) -> None:
    """Prepares the answers about a document of which there is a new version."""
    server.later(("answers", uri), _QUIET, lambda: _go_on(server, uri))


def _go_on(server: HorovodizeServer, uri: str) -> None:
    opened = server.session.get(uri)
    if opened is None:
        return
    if opened.analysis(opened.settings.options).prepare():
        server.later(("answers", uri), 0.0, lambda: _go_on(server, uri))
        return
    server.garbage.collect_later()
    if opened.awaits_outcome:
        opened.awaits_outcome = False
        refresh_lenses_and_hints(server)
