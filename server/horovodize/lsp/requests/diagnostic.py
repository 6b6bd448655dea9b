"""textDocument/diagnostic: what is wrong with a document, for clients that ask; or that nothing has changed since they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.convert import SOURCE
from horovodize.lsp.diagnostics import diagnostics_of, result_id

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_DIAGNOSTIC
OPTIONS = types.DiagnosticOptions(identifier=SOURCE, inter_file_dependencies=True, workspace_diagnostics=True)


def handle(
    server: HorovodizeServer, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
    uri = params.text_document.uri
    opened = server.session.get(uri)
    found = diagnostics_of(server.session, opened).get(uri, []) if opened is not None else []
    result = result_id(found)
    if result == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result)
    return types.RelatedFullDocumentDiagnosticReport(found, result_id=result)
