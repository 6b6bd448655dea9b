"""What is wrong with a document, pushed to the client whenever it may have changed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.analysis import NOT_DISTRIBUTED
from horovodize.lsp.convert import to_diagnostic
from horovodize.lsp.drift import Drift
from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.settings import WhileTyping
from horovodize.restrictions.violation import Severity, Violation

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


def publish(server: HorovodizeServer, uri: str) -> None:
    """Sends the diagnostics of a document's newest version, as soon as no message is waiting to be read."""
    server.when_idle(("diagnostics", uri), lambda: _publish(server, uri))


def _publish(server: HorovodizeServer, uri: str) -> None:
    opened = server.session.get(uri)
    if opened is not None:
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, diagnostics_of(server.session, opened), opened.version)
        )


def clear(server: HorovodizeServer, uri: str) -> None:
    """Takes back what was reported about a document that is closed now."""
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def diagnostics_of(session: Session, opened: OpenDocument) -> list[types.Diagnostic]:
    """The diagnostics of a document's newest version. While it does not parse: those of the last version that did, moved to
    where their places are now, and, when it is saved like that, why it does not."""
    # a client that never says when it saves is always as if it just had
    typing = opened.unsaved and session.client.tells_saves
    while_typing = session.settings.while_typing
    found = reported(session, opened)
    if opened.analysis(session.settings.options).summary.problem is not None and not (
        typing and opened.parsed_once
    ):
        found = [*opened.analysis(session.settings.options).violations, *found]
    return [
        to_diagnostic(
            opened.document,
            opened.uri,
            opened.version,
            violation,
            soft=typing and while_typing is WhileTyping.SOFT,
            encoding=session.encoding,
            client=session.client,
        )
        for violation in found
        if not (typing and while_typing is WhileTyping.OFF and violation.severity is not Severity.HINT)
    ]


def reported(session: Session, opened: OpenDocument) -> list[Violation]:
    """The findings that the user wants to hear of, of the last version that parses, at their places in the newest one."""
    shown = opened.shown(session.settings.options)
    if shown is None:
        return []
    analysis, drift = shown
    wanted = [v for v in analysis.violations if session.settings.not_distributed or v.code != NOT_DISTRIBUTED]
    if drift is None:
        return wanted
    return [found for violation in wanted if (found := _moved(violation, drift)) is not None]


def _moved(violation: Violation, drift: Drift) -> Violation | None:
    span = drift.forward(violation.span)
    if span is None:
        return None
    related = [(note, drift.forward(note.span)) for note in violation.related]
    kept = tuple(dataclasses.replace(note, span=place) for note, place in related if place is not None)
    return dataclasses.replace(violation, span=span, related=kept, fixes=())
