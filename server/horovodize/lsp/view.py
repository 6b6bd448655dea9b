"""As what a document is looked at: with the other files of a script that it is a part of, or by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from horovodize.lsp import distribution
from horovodize.lsp.analysis import Analysis
from horovodize.lsp.session import OpenDocument, Session
from horovodize.plan import Plan, Refusal
from horovodize.source import Document, Span
from horovodize.source.project import ProjectDocument
from horovodize.world.world import world_of

if TYPE_CHECKING:
    from horovodize.distribute import Outcome
    from horovodize.distribute_project import Examination
    from horovodize.options import Options
    from horovodize.summary import ModuleSummary


class View:
    """A document, or all files of a project, with one of them to look at.

    summary  what is known of the whole
    outcome  what distributing it comes to, in its positions; None: nothing is said of that
    own      the file to look at
    world    the TensorFlow and the Keras that it is for
    start    where that begins in the whole"""

    def __init__(
        self, summary: ModuleSummary, outcome: Outcome | None, own: Document, options: Options, start: int = 0
    ) -> None:
        self.summary, self.outcome, self.own, self.start = summary, outcome, own, start
        self.world = world_of(summary, options)

    @property
    def document(self) -> Document:
        return self.summary.document

    @property
    def several(self) -> bool:
        """Whether there are other files in it."""
        return self.document is not self.own

    def to_own(self, span: Span) -> Span:
        """A span of the whole that is in the file, counted from the file's start."""
        return Span(span.start - self.start, span.end - self.start)

    def holds(self, span: Span) -> bool:
        """Whether a span of the whole is in the file."""
        return 0 <= span.start - self.start <= len(self.own.text)

    def line_words(self, span: Span) -> str:
        """The line of a span in words, with the file if it is another one: "line 3", "line 3 of `optim.py`"."""
        from horovodize.distribute_project import in_file

        member, own = in_file(self.document, span)
        words = member.place(own.start).line_words
        return words if member is self.own or not self.several else f"{words} of `{_name(member)}`"


def alone(analysis: Analysis) -> View:
    """A document by itself."""
    return View(analysis.summary, analysis.outcome, analysis.document, analysis.options)


def earlier(session: Session, opened: OpenDocument, analysis: Analysis) -> View:
    """An earlier version of a document; where others belong to it, what distributing would come to is not said."""
    belongs = _runs_others(session, opened, analysis) or bool(session.runners(opened.path or ""))
    return View(analysis.summary, None, analysis.document, analysis.options) if belongs else alone(analysis)


def views_of(session: Session, opened: OpenDocument) -> Iterator[View]:
    """The newest version of a document as a module of a script that runs it; as a script, where its loop is in its modules;
    and by itself. The first in which something is known of a place says most about it."""
    analysis = opened.analysis(opened.settings.options)
    runs_others = _runs_others(session, opened, analysis)
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


def _runs_others(session: Session, opened: OpenDocument, analysis: Analysis) -> bool:
    return session.may_run(opened.path or "", bool(analysis.summary.loops))


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


def _name(document: Document) -> str:
    return document.path.replace("\\", "/").rpartition("/")[2]
