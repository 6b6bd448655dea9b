"""What is wrong with a document: pushed to the client whenever it may have changed, or made when it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp import project_findings
from horovodize.lsp.convert import to_diagnostic
from horovodize.lsp.preparation import prepare
from horovodize.lsp.refresh import refresh_lenses_and_hints
from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.settings import WhileTyping
from horovodize.restrictions.violation import Severity, Violation

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


_QUIET = 0.15  # seconds without a change


def result_id(diagnostics: list[types.Diagnostic]) -> str:
    """What tells one answer about a document from another. It means something in this process only."""
    return f"{hash(repr(diagnostics)) & (2**64 - 1):x}"


def publish(server: HorovodizeServer, uri: str) -> None:
    """Sends the diagnostics of a document's newest version, as soon as no message is waiting to be read. A client that
    pulls them asks by itself."""
    server.news.document_changed(uri)
    prepare(server, uri)
    if not server.session.client.pulls_diagnostics:
        server.when_idle(("diagnostics", uri), lambda: _publish(server, uri))
    look_further(server, uri)


def report_saved(server: HorovodizeServer, uri: str) -> None:
    """Reports on a document that was just saved."""
    server.configuration.reread(server)
    if (opened := server.session.get(uri)) is not None:
        louder = opened.unsaved
        opened.saved()
        if louder and server.session.client.pulls_diagnostics:
            refresh(server)
        publish(server, opened.uri)


def refresh(server: HorovodizeServer) -> None:
    """Has the client show all diagnostics again: something else than a document's text has changed."""
    if server.session.client.pulls_diagnostics:
        server.when_idle("diagnostics", lambda: _ask_to_pull(server))
    for document in server.session.documents:
        publish(server, document.uri)


def look_further(server: HorovodizeServer, uri: str) -> None:
    """Reports on a document again if the files that belong to it add something new, once nobody types."""
    server.later(("modules", uri), _QUIET, lambda: _look_further(server, uri))


def _look_further(server: HorovodizeServer, uri: str) -> None:
    opened = server.session.get(uri)
    if opened is not None and project_findings.look(server, opened):
        refresh_lenses_and_hints(server)
        if server.session.client.pulls_diagnostics:
            refresh(server)
        else:
            _publish(server, opened.uri)


def _ask_to_pull(server: HorovodizeServer) -> None:
    server.workspace_diagnostic_refresh(None)


def _publish(server: HorovodizeServer, uri: str) -> None:
    opened = server.session.get(uri)
    if opened is None:
        return
    for own, found in diagnostics_of(server.session, opened).items():
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(own, found, opened.version_of(own))
        )


def clear(server: HorovodizeServer, uri: str) -> None:
    """Takes back what was reported about a document that is closed now."""
    server.news.document_changed(uri)
    prepare(server, uri)
    if not server.session.client.pulls_diagnostics:
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def diagnostics_of(session: Session, opened: OpenDocument) -> dict[str, list[types.Diagnostic]]:
    """The diagnostics of a document's newest version, by the client's documents that it consists of. While it does not
    parse: those of the last version that did, moved to where their places are now, and, when it is saved like that, why
    it does not."""
    # a client that never says when it saves is always as if it just had
    typing = opened.unsaved and session.client.tells_saves
    while_typing = opened.settings.while_typing
    found = reported(session, opened)
    if opened.analysis(opened.settings.options).summary.problem is not None and not (
        typing and opened.parsed_once
    ):
        found = [*opened.analysis(opened.settings.options).violations, *found]
    by_document: dict[str, list[types.Diagnostic]] = {uri: [] for uri in opened.uris}
    for violation in found:
        if typing and while_typing is WhileTyping.OFF and violation.severity is not Severity.HINT:
            continue
        uri = opened.location(violation.span, session.encoding).uri
        by_document.setdefault(uri, []).append(
            to_diagnostic(
                violation,
                opened.version,
                lambda span: opened.location(span, session.encoding),
                session.client,
                soft=typing and while_typing is WhileTyping.SOFT,
            )
        )
    return by_document


def reported(session: Session, opened: OpenDocument) -> list[Violation]:
    """The findings that the user wants to hear of, of the last version that parses, at their places in the newest one."""
    shown = opened.shown(opened.settings.options)
    if shown is None:
        return []
    analysis, drift = shown
    found = analysis.violations
    if drift is not None:
        found = [moved for violation in found if (moved := drift.moved(violation)) is not None]
    return [v for v in project_findings.together(opened, found) if opened.settings.wants(v.code, v.name)]
