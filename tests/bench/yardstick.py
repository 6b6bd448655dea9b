"""The least that a language server in Python does: pygls' own way of reading and answering, and `ast.parse` over the whole text
at every change. Diagnostics are sent or given when asked, whichever the client likes better."""

from __future__ import annotations

import ast
import sys

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("yardstick", "0", text_document_sync_kind=types.TextDocumentSyncKind.Incremental)
pulls = "--pull" in sys.argv[1:]


def _found(uri: str) -> list[types.Diagnostic]:
    """One diagnostic, always: how many statements there are."""
    count = len(ast.parse(server.workspace.get_text_document(uri).source).body)
    start = types.Position(0, 0)
    return [types.Diagnostic(types.Range(start, start), f"{count} statements", source="yardstick")]


def _publish(uri: str, version: int) -> None:
    if not pulls:
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, _found(uri), version))


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def did_open(params: types.DidOpenTextDocumentParams) -> None:
    _publish(params.text_document.uri, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_change(params: types.DidChangeTextDocumentParams) -> None:
    _publish(params.text_document.uri, params.text_document.version)


if pulls:

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, types.DiagnosticOptions(False, False))
    def diagnostic(params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        return types.RelatedFullDocumentDiagnosticReport(_found(params.text_document.uri))


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params: types.HoverParams) -> types.Hover:
    return types.Hover("nothing")


if __name__ == "__main__":
    server.start_io()
