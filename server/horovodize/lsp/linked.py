"""What is found in an open script only together with the modules that it imports: its loop may be in one of them.

That takes longer than a look at the script by itself, so it is done when nothing else is, and reported then; until it is done
again after a change, what was found before is at the places where the change has moved it."""

from __future__ import annotations

import dataclasses
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from horovodize.lsp import distribution
from horovodize.lsp.drift import Drift
from horovodize.lsp.session import OpenDocument, Session
from horovodize.restrictions.violation import Violation
from horovodize.source import Document

if TYPE_CHECKING:
    from horovodize.distribute_project import Examination
    from horovodize.lsp.connection import HorovodizeServer


@dataclass(frozen=True)
class _Found:
    """What was found in one version of a text, with its modules as they were then."""

    script: Examination
    document: Document
    violations: tuple[Violation, ...]


_FOUND: weakref.WeakKeyDictionary[OpenDocument, _Found] = weakref.WeakKeyDictionary()


def findings(opened: OpenDocument) -> list[Violation]:
    """What the modules of an open script add to its findings, in its newest version."""
    found = _FOUND.get(opened)
    if found is None or not found.violations:
        return []
    drift = Drift.between(found.document.text, opened.text)
    moved = [(violation, drift.forward(violation.span)) for violation in found.violations]
    return [dataclasses.replace(violation, span=span) for violation, span in moved if span is not None]


def look(server: HorovodizeServer, opened: OpenDocument) -> bool:
    """Finds out what the modules of an open script add, if there are any. Whether that is something else than before."""
    if opened.path is None or not server.index.may_run_others(opened.path):
        return _FOUND.pop(opened, None) is not None
    if opened.document.problem is not None:
        return False
    script = distribution.script_of(server.session, opened)
    before = _FOUND.get(opened)
    if script is None or (before is not None and before.script is script):
        return False
    shown = [(v.code, v.span, v.message) for v in findings(opened)]
    _FOUND[opened] = _Found(script, opened.document, tuple(_added(server.session, opened, script)))
    return [(v.code, v.span, v.message) for v in findings(opened)] != shown


def _added(session: Session, opened: OpenDocument, script: Examination) -> list[Violation]:
    from horovodize.restrictions import check

    together = script.together
    if together is None:
        return []
    from horovodize.distribute_project import in_file

    options = opened.settings.options
    known = {(v.code, v.span) for v in opened.analysis(options).violations}
    added: list[Violation] = []
    for violation in check(together, options):
        document, span = in_file(together.document, violation.span)
        if document is together.document.script and (violation.code, span) not in known:
            added.append(dataclasses.replace(violation, span=span, related=(), fixes=()))
    return added
