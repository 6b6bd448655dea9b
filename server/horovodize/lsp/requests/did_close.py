"""textDocument/didClose: forgets the document and what was reported about it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import clear

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_DID_CLOSE
OPTIONS = None
_QUIET = 1.0  # seconds without another close


def handle(server: HorovodizeServer, params: types.DidCloseTextDocumentParams) -> None:
    opened = server.session.get(params.text_document.uri)
    if opened is not None and server.session.close(params.text_document.uri):
        clear(server, params.text_document.uri)
        server.index.buffer_came_or_went(opened)
        # What was known of it refers to itself: without this, it would stay until some later collection.
        server.later("what was closed", _QUIET, _collect)


def _collect() -> None:
    gc.collect()
