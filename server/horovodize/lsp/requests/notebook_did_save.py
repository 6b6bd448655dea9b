"""notebookDocument/didSave: reports as loudly as the findings deserve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import report_saved

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.NOTEBOOK_DOCUMENT_DID_SAVE
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidSaveNotebookDocumentParams) -> None:
    report_saved(server, params.notebook_document.uri)
