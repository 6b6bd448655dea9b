"""notebookDocument/didOpen: takes a notebook in and reports on its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import publish

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.NOTEBOOK_DOCUMENT_DID_OPEN
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidOpenNotebookDocumentParams) -> None:
    from horovodize.lsp.notebook import OpenNotebook

    opened = OpenNotebook(params.notebook_document, params.cell_text_documents)
    opened.settings = server.session.settings
    server.session.keep(opened)
    server.configuration.attend(server, opened)
    publish(server, opened.uri)
