"""Between the engine's words and the protocol's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.documentation import page_address
from horovodize.lsp.capabilities import Capabilities
from horovodize.restrictions.violation import Severity, Violation
from horovodize.source import Document, Position, PositionEncoding, Span

if TYPE_CHECKING:
    from horovodize.workspace import Place, Restriction

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


def to_place_range(place: Place, encoding: PositionEncoding) -> types.Range:
    """A place of the index in the client's positions."""
    start, end = (types.Position(mark.line, mark.column(encoding)) for mark in (place.start, place.end))
    return types.Range(start, end)


def to_closed_diagnostic(
    restriction: Restriction, encoding: PositionEncoding, client: Capabilities
) -> types.Diagnostic:
    """A finding in a file that is not open."""
    return types.Diagnostic(
        range=to_place_range(restriction.place, encoding),
        message=restriction.message,
        severity=_SEVERITIES[Severity(restriction.severity)],
        code=restriction.code,
        code_description=_page(restriction.code, client),
        source=SOURCE,
        tags=_tags(restriction.deprecated, client),
        data={"name": restriction.name} if client.diagnostic_data else None,
    )


def _page(code: str, client: Capabilities) -> types.CodeDescription | None:
    page = page_address(code) if client.code_descriptions else None
    return types.CodeDescription(page) if page else None


def _tags(deprecated: bool, client: Capabilities) -> list[types.DiagnosticTag] | None:
    return [types.DiagnosticTag.Deprecated] if deprecated and client.deprecated_tag else None


def to_diagnostic(
    violation: Violation,
    version: int,
    locate: Callable[[Span], types.Location],
    client: Capabilities,
    *,
    soft: bool = False,
) -> types.Diagnostic:
    """A finding as the client shows it; `locate` says where a span is for the client; `soft`: no louder than an
    information."""
    severity = _SEVERITIES[violation.severity]
    if soft:
        severity = types.DiagnosticSeverity(max(severity, types.DiagnosticSeverity.Information))
    return types.Diagnostic(
        range=locate(violation.span).range,
        message=violation.message,
        severity=severity,
        code=violation.code,
        code_description=_page(violation.code, client),
        source=SOURCE,
        tags=_tags(violation.deprecated, client),
        related_information=[
            types.DiagnosticRelatedInformation(locate(related.span), related.message)
            for related in violation.related
        ]
        if violation.related and client.related_information
        else None,
        data={"name": violation.name, "version": version} if client.diagnostic_data else None,
    )
