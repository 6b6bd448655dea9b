"""Having the client show code lenses and inlay hints anew, when something else than a document's text has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


def refresh_lenses_and_hints(server: HorovodizeServer) -> None:
    """Asks clients that can be told, once no message waits to be read."""
    server.when_idle("lenses and hints", lambda: _ask(server))


def _ask(server: HorovodizeServer) -> None:
    if server.session.client.refreshes_code_lenses:
        server.workspace_code_lens_refresh(None)
    if server.session.client.refreshes_inlay_hints:
        server.workspace_inlay_hint_refresh(None)
