"""Between the engine's words and the protocol's."""

from __future__ import annotations

from lsprotocol import types

from horovodize.lsp.capabilities import Capabilities
from horovodize.restrictions.violation import Severity, Violation
from horovodize.source import Document, Position, PositionEncoding, Span

SOURCE = "horovodize"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}


def to_range(document: Document, span: Span, encoding: PositionEncoding) -> types.Range:
    """A span of a document in the client's positions."""
    start, end = (document.lines.position(offset, encoding) for offset in (span.start, span.end))
    return types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))


def to_offset(document: Document, position: types.Position, encoding: PositionEncoding) -> int:
    """The offset of a client's position; positions outside the text are brought into it."""
    return document.lines.offset(Position(position.line, position.character), encoding)


def to_span(document: Document, range_: types.Range, encoding: PositionEncoding) -> Span:
    """The span of a client's range, whichever way round it is."""
    ends = sorted(to_offset(document, position, encoding) for position in (range_.start, range_.end))
    return Span(ends[0], ends[1])


def page_of(code: str) -> str | None:
    """The address of the page about a code. There are no pages yet."""
    return None


def to_diagnostic(
    document: Document,
    uri: str,
    version: int,
    violation: Violation,
    *,
    soft: bool,
    encoding: PositionEncoding,
    client: Capabilities,
) -> types.Diagnostic:
    """A finding as the client shows it; `soft`: no louder than an information."""
    severity = _SEVERITIES[violation.severity]
    if soft:
        severity = types.DiagnosticSeverity(max(severity, types.DiagnosticSeverity.Information))
    page = page_of(violation.code)
    return types.Diagnostic(
        range=to_range(document, violation.span, encoding),
        message=violation.message,
        severity=severity,
        code=violation.code,
        code_description=types.CodeDescription(page) if page and client.code_descriptions else None,
        source=SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location(uri, to_range(document, related.span, encoding)), related.message
            )
            for related in violation.related
        ]
        if violation.related and client.related_information
        else None,
        data={"name": violation.name, "version": version} if client.diagnostic_data else None,
    )
