"""notebookDocument/didChange: cells come, go, move and change; all of them are reported on again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import clear, publish

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.NOTEBOOK_DOCUMENT_DID_CHANGE
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidChangeNotebookDocumentParams) -> None:
    from horovodize.lsp.notebook import OpenNotebook

    session = server.session
    opened = session.get(params.notebook_document.uri)
    if isinstance(opened, OpenNotebook):
        gone = opened.update(params.notebook_document.version, params.change, session.encoding)
        session.keep(opened)
        for uri in gone:
            clear(server, uri)
        publish(server, opened.uri)
