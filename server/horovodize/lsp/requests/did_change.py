"""textDocument/didChange: brings the text up to date and reports on it, in the tone for a document being
edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import publish

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_DID_CHANGE
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidChangeTextDocumentParams) -> None:
    document = params.text_document
    opened = server.session.change(document.uri, document.version, params.content_changes)
    if opened is not None:
        publish(server, document.uri)
        server.index.buffer_changed(opened)
