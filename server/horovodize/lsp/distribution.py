"""**Distribute with Horovod** as an action: whether it can be offered at a place, and its edit.

A script is distributed with what it imports of its project, so the edit may be one of several files: of open buffers in the
version that they have now, and of files on disk."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.analysis import Analysis
from horovodize.lsp.project_files import Stamp
from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.workspace_edit import plan_edit
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document, Span

if TYPE_CHECKING:
    from horovodize.distribute_project import Examination

TITLE = "Distribute with Horovod"
KIND = "refactor.rewrite.horovodize.distribute"
_PLACES = ("loop", "tensorflow")  # roles of which a distribution is offered


@dataclass(frozen=True)
class _Known:
    """What one version of a script came to, and the state of the files that were read for it."""

    version: int
    options: Options
    asked: dict[str, Stamp]
    script: Examination


_KNOWN: weakref.WeakKeyDictionary[OpenDocument, _Known] = weakref.WeakKeyDictionary()
_KNOWN_RUNNERS: weakref.WeakKeyDictionary[OpenDocument, _Known] = weakref.WeakKeyDictionary()  # by module


def offered_at(analysis: Analysis, span: Span) -> bool:
    """Whether a range touches what one would distribute: a loop, the library's import, any finding; of a script that starts
    what others hold, the imports that it begins with."""
    places = [place for loop in analysis.summary.loops for place in (loop.span, loop.site)]
    places += [role.span for role in analysis.summary.roles if role.role in _PLACES]
    places += [violation.span for violation in analysis.violations]
    if not analysis.summary.loops:
        places += _imports(analysis.document)
    return any(span.overlaps(place) for place in places)


def _imports(document: Document) -> list[Span]:
    body = document.tree.body if document.tree is not None else []
    return [document.span(s) for s in body if isinstance(s, (ast.Import, ast.ImportFrom))]


def outcome_of(session: Session, opened: OpenDocument) -> Plan | Refusal | Unchanged:
    """What the newest version of a document comes to, together with the files that it imports as they are now."""
    script = script_of(session, opened)
    return script.outcome if script is not None else opened.analysis(opened.settings.options).outcome


def script_of(session: Session, opened: OpenDocument) -> Examination | None:
    """The newest version of a document, with the files that it imports as they are now; None for what imports none: a
    notebook, and what has no path."""
    options = opened.settings.options
    if type(opened.document) is not Document or "://" in opened.document.path:
        return None
    files = session.files
    known = _KNOWN.get(opened)
    if (
        known is not None
        and (known.version, known.options) == (opened.version, options)
        and files.unchanged(known.asked)
    ):
        return known.script
    from horovodize.distribute_project import Examination

    alone = opened.analysis(options)
    script = Examination(
        opened.document, files.load, options, summary=alone.summary, outcome=lambda: alone.outcome
    )
    script.read()
    _KNOWN[opened] = _Known(opened.version, options, files.asked, script)
    return script


def plan_within(session: Session, opened: OpenDocument, runners: Sequence[str]) -> Plan | None:
    """What distributing changes in the newest version of a document: as a script, or as a module of the first of the scripts
    that run it, `runners`. None where it changes nothing."""
    outcome = _outcome_at(session, opened, runners[0]) if runners else outcome_of(session, opened)
    if not isinstance(outcome, Plan):
        return None
    from horovodize.distribute_project import file_plans

    return next((plan for plan in file_plans(outcome) if plan.document is opened.document), None)


def _outcome_at(session: Session, module: OpenDocument, path: str) -> Plan | Refusal | Unchanged | None:
    """What a script of which a document is a module comes to; None where it can't be read."""
    files, options = session.files, module.settings.options
    known = _KNOWN_RUNNERS.get(module)
    if known is not None and known.options == options and files.unchanged(known.asked):
        return known.script.outcome
    script = files.load(path)
    if script is None:
        return None
    from horovodize.distribute_project import Examination

    examined = Examination(script, files.load, options)
    examined.read()
    _KNOWN_RUNNERS[module] = _Known(module.version, options, files.asked, examined)
    return examined.outcome


def obstacle(session: Session, opened: OpenDocument) -> str | None:
    """Why the document can't be distributed (or needn't be), in a line; None when it can."""
    outcome = outcome_of(session, opened)
    if isinstance(outcome, Unchanged):
        return outcome.message
    if isinstance(outcome, Refusal):
        return (
            "; ".join(dict.fromkeys(reason.message for reason in outcome.reasons))
            or "it can't be distributed"
        )
    return None if outcome.edits else "there is nothing to change"


def edit_of(session: Session, opened: OpenDocument) -> types.WorkspaceEdit | None:
    """The edit that distributes a document's newest version, and what it imports; None when there is none."""
    outcome = outcome_of(session, opened)
    if not isinstance(outcome, Plan):
        return None
    from horovodize.rules import RULES

    titles = {rule.id: rule.title for rule in RULES.values()}
    return plan_edit(opened, outcome, titles, session.encoding, session.client, session.files.open_as)
