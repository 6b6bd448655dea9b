"""textDocument/didSave: reports as loudly as the findings deserve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import publish

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_DID_SAVE
OPTIONS = types.SaveOptions(include_text=False)


def handle(server: HorovodizeServer, params: types.DidSaveTextDocumentParams) -> None:
    if (opened := server.session.get(params.text_document.uri)) is not None:
        opened.saved()
        publish(server, opened.uri)
