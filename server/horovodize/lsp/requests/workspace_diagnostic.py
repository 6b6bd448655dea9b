"""workspace/diagnostic: what is wrong with the files that are not open, where the setting `diagnostics.closedFiles` is on.
Files about which the client has heard the same before are `unchanged`; a client that wants it in parts gets it file by file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.closed_files import reports_of
from horovodize.lsp.diagnostics import result_id
from horovodize.lsp.progress import Work

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_DIAGNOSTIC
OPTIONS = None  # what the client is told about it stands in `diagnostic`
_PART = 50  # files

_Report = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport


def handle(
    server: HorovodizeServer, params: types.WorkspaceDiagnosticParams
) -> types.WorkspaceDiagnosticReport:
    work = Work(server, params.work_done_token)
    reports: list[_Report] = []
    parts = 0
    for report in _reports(server, {known.uri: known.value for known in params.previous_result_ids}):
        work.check()
        reports.append(report)
        if params.partial_result_token is not None and len(reports) >= _PART:
            _send(server, params.partial_result_token, reports, first=parts == 0)
            reports, parts = [], parts + 1
    if parts and params.partial_result_token is not None:
        _send(server, params.partial_result_token, reports, first=False)
        return types.WorkspaceDiagnosticReport([])
    return types.WorkspaceDiagnosticReport(reports)


def _reports(server: HorovodizeServer, known: dict[str, str]) -> Iterator[_Report]:
    """The reports of all files that have something, and of those that had and have no more."""
    found = reports_of(server)
    nothing = result_id([])
    for uri in sorted(found.keys() | known.keys()):
        diagnostics = found.get(uri, [])
        result = result_id(diagnostics)
        if known.get(uri) == result:
            yield types.WorkspaceUnchangedDocumentDiagnosticReport(uri, result, version=None)
        elif uri in found or known[uri] != nothing:
            yield types.WorkspaceFullDocumentDiagnosticReport(
                uri, diagnostics, version=None, result_id=result
            )


def _send(server: HorovodizeServer, token: int | str, reports: list[_Report], *, first: bool) -> None:
    value = (
        types.WorkspaceDiagnosticReport(list(reports))
        if first
        else types.WorkspaceDiagnosticReportPartialResult(list(reports))
    )
    server.progress(types.ProgressParams(token, value))
