"""textDocument/didOpen: takes the document in and reports on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import publish

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_DID_OPEN
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidOpenTextDocumentParams) -> None:
    opened = server.session.open(params.text_document)
    if opened is not None:
        server.configuration.attend(server, opened)
        publish(server, params.text_document.uri)
        server.index.buffer_came_or_went(opened)
