"""textDocument/didClose: forgets the document and what was reported about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import clear

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_DID_CLOSE
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidCloseTextDocumentParams) -> None:
    opened = server.session.get(params.text_document.uri)
    if opened is not None and server.session.close(params.text_document.uri):
        clear(server, params.text_document.uri)
        server.index.buffer_came_or_went(opened)
