"""What documents train with, as clients show it: of open documents as they are in the editor, of others as the index has them.

A file, as JSON: `uri`, `state`, `problem`, `loops` (`kind`, `range`, `uri`, `function`, `description`, `roles`: `role`, `name`,
`range`, `uri`, `detail`), `restrictions` (`code`, `name`, `message`, `range`, `uri`, `href`), `project`. A range is where `uri`
says, which is another file where a script's loop is in one of its modules."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from horovodize.documentation import page_address
from horovodize.lsp import distribution, project_findings
from horovodize.lsp.drift import Drift
from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.settings import Settings
from horovodize.source import Document, PositionEncoding, Span

if TYPE_CHECKING:
    from horovodize.workspace import FileSummary, Mark, Place


def summary_of(session: Session, opened: OpenDocument) -> FileSummary:
    """What is known of an open document together with the files that it imports. While it does not parse: its loops are those
    of the last version that did."""
    from horovodize.workspace import State
    from horovodize.workspace.describe import describe, describe_script

    options = opened.settings.options
    analysis = opened.analysis(options)
    if analysis.summary.problem is not None:
        return own_summary_of(session, opened)
    script = distribution.script_of(session, opened)
    found = project_findings.together(opened, analysis.violations)
    locator = _Locator(session, opened)
    if script is not None:
        alone = partial(describe, script.alone, found, options, locator.in_project)
        summary = describe_script(script, alone, options, locator.in_project)
    else:
        summary = describe(analysis.summary, found, options, locator, analysis.outcome)
    if summary.state is State.BLOCKED and not distribution.subject_of(session, opened).obstacle:
        return replace(summary, state=State.DISTRIBUTABLE, problem="")  # by a script that runs it
    return summary


def own_summary_of(session: Session, opened: OpenDocument) -> FileSummary:
    """What is known of an open document by itself."""
    from horovodize.workspace.describe import describe

    options = opened.settings.options
    analysis, shown = opened.analysis(options), opened.shown(options)
    found = describe(analysis.summary, analysis.violations, options, _Locator(session, opened))
    if analysis.summary.problem is None or shown is None:
        return found
    earlier, drift = shown
    before = describe(earlier.summary, earlier.violations, options, _Locator(session, opened, drift))
    return replace(found, loops=before.loops, restrictions=before.restrictions)


def wanted(summary: FileSummary, settings: Settings) -> FileSummary:
    """A summary with the restrictions that the user wants to hear of."""
    kept = tuple(found for found in summary.restrictions if settings.wants(found.code, found.name))
    return replace(summary, restrictions=kept)


def file_json(session: Session, summary: FileSummary, uri: str) -> dict[str, Any]:
    """A file's summary for the client; `uri` is the file's."""

    def at(place: Place) -> dict[str, Any]:
        return {
            "uri": uri_of(session, place.file) if place.file else uri,
            "range": _range(place, session.encoding),
        }

    return {
        "uri": uri,
        "state": summary.state.value,
        **({"problem": summary.problem} if summary.problem else {}),
        "loops": [
            {
                "kind": loop.kind,
                **at(loop.place),
                "function": loop.function,
                "description": loop.description,
                "roles": [
                    {"role": role.role, "name": role.name, **at(role.place), "detail": role.detail}
                    for role in loop.roles
                ],
            }
            for loop in summary.loops
        ],
        "restrictions": [
            {
                "code": found.code,
                "name": found.name,
                "message": found.message,
                **at(found.place),
                **({"href": href} if (href := page_address(found.code)) else {}),
            }
            for found in summary.restrictions
        ],
        **({"project": [uri_of(session, path) for path in summary.project]} if summary.project else {}),
    }


def uri_of(session: Session, file: str) -> str:
    """The URI of a file by its path, or by a URI, as the client writes it."""
    return file if ":" in file[2:] and not os.path.isabs(file) else session.uri_of(file)


def _range(place: Place, encoding: PositionEncoding) -> dict[str, dict[str, int]]:
    def position(mark: Mark) -> dict[str, int]:
        return {"line": mark.line, "character": mark.column(encoding)}

    return {"start": position(place.start), "end": position(place.end)}


class _Locator:
    """Says where the client has a span of an open document; `drift`: how the text has changed since."""

    def __init__(self, session: Session, opened: OpenDocument, drift: Drift | None = None) -> None:
        self._session, self._opened, self._drift = session, opened, drift

    def in_project(self, document: Document, span: Span) -> Place:
        """The same of the text of a script with its modules, whose places are in several files."""
        from horovodize.distribute_project import in_file
        from horovodize.workspace.describe import place_in_project

        member, own = in_file(document, span)
        return self(member, own) if member is self._opened.document else place_in_project(document, span)

    def __call__(self, document: Document, span: Span) -> Place:
        from horovodize.workspace import Place

        if self._drift is not None:
            start = self._drift.new.start
            span = self._drift.forward(span) or Span(start, start)
        location = self._opened.location(span, self._session.encoding)
        file = "" if location.uri == self._opened.uri else location.uri
        return Place(file, _mark(location.range.start), _mark(location.range.end))


def _mark(position: types.Position) -> Mark:
    from horovodize.workspace import Mark

    return Mark(position.line, position.character, position.character, position.character)
