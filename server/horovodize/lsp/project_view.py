"""As what an open document is looked at: with the other files of a script that it is a part of, or by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from horovodize.explaining.view import View
from horovodize.lsp import distribution
from horovodize.lsp.analysis import Analysis
from horovodize.lsp.session import OpenDocument, Session
from horovodize.plan import Plan, Refusal
from horovodize.source import Document, Span
from horovodize.source.project import ProjectDocument

if TYPE_CHECKING:
    from horovodize.distribute import Outcome
    from horovodize.distribute_project import Examination
    from horovodize.options import Options


def alone(analysis: Analysis) -> View:
    """A document by itself."""
    return View(analysis.summary, analysis.outcome, analysis.document, analysis.options)


def earlier(session: Session, opened: OpenDocument, analysis: Analysis) -> View:
    """An earlier version of a document; where others belong to it, what distributing would come to is not said."""
    belongs = distribution.may_run_others(session, opened, analysis) or bool(
        session.runners(opened.path or "")
    )
    return View(analysis.summary, None, analysis.document, analysis.options) if belongs else alone(analysis)


def views_of(session: Session, opened: OpenDocument) -> Iterator[View]:
    """The newest version of a document as a module of a script that runs it; as a script, where its loop is in its modules;
    and by itself. The first in which something is known of a place says most about it."""
    analysis = opened.analysis(opened.settings.options)
    runs_others = distribution.may_run_others(session, opened, analysis)
    if not runs_others and not session.runners(opened.path or ""):
        yield alone(analysis)  # at once: reading a project takes its time
        return
    subject = distribution.subject_of(session, opened)
    if subject.runner:
        projects = [subject.examined]
    else:
        projects = [next((runner for _, runner in distribution.runners_of(session, opened)), None)]
        projects += [subject.examined] if runs_others else []
    options = analysis.options
    seen = [view for project in projects if project and (view := _within(project, opened.document, options))]
    yield from seen
    if seen and not isinstance(analysis.outcome, Plan):
        part = distribution.part_of(subject.outcome, opened.document)
        yield View(analysis.summary, part, opened.document, options)
    else:
        yield alone(analysis)


def _within(examined: Examination, own: Document, options: Options) -> View | None:
    """A file of a project whose script trains."""
    whole = examined.together
    if whole is None or not whole.loops:
        return None
    index = next((i for i, member in enumerate(whole.document.members) if member is own), None)
    if index is None:
        return None
    start = whole.document.start_of(index)
    return View(whole, _in_whole(examined.outcome, whole.document), own, options, start)


def _in_whole(outcome: Outcome, whole: ProjectDocument) -> Outcome:
    """What was found out about the script of a project, in the positions of the whole."""
    if outcome.document is whole:
        return outcome
    start = whole.start_of(len(whole.members) - 1)

    def moved(span: Span) -> Span:
        return Span(span.start + start, span.end + start)

    if isinstance(outcome, Plan):
        changes = [replace(change, span=moved(change.span)) for change in outcome.changes]
        notes = [replace(note, span=moved(note.span)) for note in outcome.notes]
        scalings = [replace(scaling, span=moved(scaling.span)) for scaling in outcome.scalings]
        return Plan(whole, changes, notes, scalings=scalings)
    if isinstance(outcome, Refusal):
        return Refusal(whole, [replace(reason, span=moved(reason.span)) for reason in outcome.reasons])
    return outcome
