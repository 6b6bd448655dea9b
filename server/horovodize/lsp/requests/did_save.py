"""textDocument/didSave: reports as loudly as the findings deserve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path

from horovodize.lsp.diagnostics import report_saved

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_DID_SAVE
OPTIONS = types.SaveOptions(include_text=False)


def handle(server: HorovodizeServer, params: types.DidSaveTextDocumentParams) -> None:
    report_saved(server, params.text_document.uri)
    if path := to_fs_path(params.text_document.uri):
        server.index.changed([path])  # not every client watches files
