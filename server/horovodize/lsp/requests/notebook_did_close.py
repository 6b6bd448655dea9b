"""notebookDocument/didClose: forgets the notebook and what was reported about its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import clear

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.NOTEBOOK_DOCUMENT_DID_CLOSE
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidCloseNotebookDocumentParams) -> None:
    opened = server.session.get(params.notebook_document.uri)
    cells = opened.uris if opened is not None else []
    if server.session.close(params.notebook_document.uri):
        for uri in cells:
            clear(server, uri)
