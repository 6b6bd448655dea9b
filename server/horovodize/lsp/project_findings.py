"""What is found in an open document only together with the files that belong to it: of a script, the modules that it imports
(its loop may be in one of them); of a module, the scripts that run it (and hand it the optimizer that it does not make).

That takes longer than a look at the script by itself, so it is done when nothing else is, and reported then; until it is done
again after a change, what was found before is at the places where the change has moved it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from horovodize.lsp import distribution
from horovodize.lsp.analysis import NOT_DISTRIBUTED, Analysis
from horovodize.lsp.drift import Drift
from horovodize.lsp.session import OpenDocument
from horovodize.restrictions.violation import Severity, Violation
from horovodize.source import Document, Position, PositionEncoding, Span
from horovodize.source.notebook import NotebookDocument

if TYPE_CHECKING:
    from horovodize.distribute_project import Examination
    from horovodize.lsp.connection import HorovodizeServer
    from horovodize.workspace import Restriction


@dataclass(frozen=True)
class _Found:
    """What was found in one version of a text, as the files of its project were then.

    script    itself with its modules; None: it is not read with others
    added     what is found only together
    settled   what is found in it alone, and turns out otherwise together"""

    document: Document
    script: Examination | None
    added: tuple[Violation, ...]
    settled: tuple[Violation, ...]


_FOUND: weakref.WeakKeyDictionary[OpenDocument, _Found] = weakref.WeakKeyDictionary()


def together(opened: OpenDocument, alone: Sequence[Violation]) -> list[Violation]:
    """The findings in the newest version of a document, given those in it alone."""
    found = _FOUND.get(opened)
    if found is None or not (found.added or found.settled):
        return list(alone)
    drift = Drift.between(found.document.text, opened.text)
    settled = {(v.code, drift.forward(v.span)) for v in found.settled}
    added = [moved for violation in found.added if (moved := drift.moved(violation)) is not None]
    return sorted(
        [*(v for v in alone if (v.code, v.span) not in settled), *added], key=lambda v: (v.span, v.code)
    )


def loops_in_modules(opened: OpenDocument) -> dict[Span, str]:
    """The loops of a script that its modules take part in, by the places that they have in its newest version: their kinds."""
    found = _FOUND.get(opened)
    if found is None or found.script is None or found.script.together is None:
        return {}
    from horovodize.distribute_project import in_file

    drift, places = Drift.between(found.document.text, opened.text), dict[Span, str]()
    for loop in found.script.together.loops:
        document, own = in_file(found.script.together.document, loop.span)
        if document is found.document and (span := drift.forward(own)) is not None:
            places.setdefault(span, loop.kind.label)
    return places


def look(server: HorovodizeServer, opened: OpenDocument) -> bool:
    """Finds out what the project of an open document says of it, if it has one. Whether that is something else than before."""
    before = _FOUND.get(opened)
    path, is_notebook = opened.path, isinstance(opened.document, NotebookDocument)
    if path is None or not (is_notebook or server.index.knows(path)):
        return _FOUND.pop(opened, None) is not None
    if opened.document.problem is not None or not server.index.complete:
        return False  # asked again when there is more to say
    analysis = opened.analysis(opened.settings.options)
    alone = analysis.violations
    runs_others = distribution.may_run_others(server.session, opened, analysis)
    script = distribution.script_of(server.session, opened) if runs_others else None
    if script is not None and before is not None and before.script is script:
        return False
    shown = together(opened, alone)
    if script is not None and script.together is not None and script.together.loops:
        found = [violation for document, violation in script.findings if document is script.script]
        settled = list(alone)
    else:
        found, settled = _of_scripts(server, path, analysis, alone)
    _FOUND[opened] = _Found(opened.document, script, _without(found, alone), _without(settled, found))
    return together(opened, alone) != shown


def _of_scripts(
    server: HorovodizeServer, path: str, analysis: Analysis, alone: Sequence[Violation]
) -> tuple[list[Violation], list[Violation]]:
    """What the scripts that run a module find in it, and which findings in it alone that settles."""
    if not server.index.runners(path):
        return list(alone), []
    known = server.index.restrictions_in(path)
    found = [_violation(restriction, analysis.document) for restriction in known]
    hints = {violation.span: violation for violation in alone if violation.code == NOT_DISTRIBUTED}
    if server.index.is_run_distributably(path):
        from horovodize.restrictions.not_distributed import hint

        for loop in analysis.summary.loops:
            hints.setdefault(loop.span, hint(loop))
    return [*found, *hints.values()], list(alone)


def _violation(restriction: Restriction, document: Document) -> Violation:
    start, end = (
        document.lines.offset(Position(mark.line, mark.utf32), PositionEncoding.UTF32)
        for mark in (restriction.place.start, restriction.place.end)
    )
    severity = Severity(restriction.severity)
    return Violation(
        restriction.code,
        restriction.name,
        restriction.message,
        Span(start, end),
        severity,
        deprecated=restriction.deprecated,
    )


def _without(violations: Sequence[Violation], others: Sequence[Violation]) -> tuple[Violation, ...]:
    known = {(violation.code, violation.span) for violation in others}
    return tuple(violation for violation in violations if (violation.code, violation.span) not in known)
