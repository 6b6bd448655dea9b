"""**Distribute with Horovod** as an action: whether it can be offered at a place, of what, and its edit.

A script is distributed with what it imports of its project, so the edit may be one of several files: of open buffers in the
version that they have now, and of files on disk. In a module that comes to nothing by itself, a script that runs it is
meant."""

from __future__ import annotations

import ast
import os
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.analysis import Analysis
from horovodize.lsp.project_files import Stamp
from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.workspace_edit import plan_edit, plans_edit
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document, Span
from horovodize.source.notebook import NotebookDocument

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


@dataclass(frozen=True)
class Subject:
    """What is distributed where a document is asked to be.

    outcome   what that comes to
    runner    the path of the script that runs the document and is meant instead of it; "" is the document itself
    examined  the script with its modules; None: the document is read by itself
    """

    outcome: Plan | Refusal | Unchanged
    runner: str = ""
    examined: Examination | None = None

    @property
    def title(self) -> str:
        """What the action is called."""
        return f"Distribute {self.name} with Horovod" if self.runner else TITLE

    @property
    def name(self) -> str:
        """What the file of a runner is called."""
        return os.path.basename(self.runner)

    @property
    def obstacle(self) -> str | None:
        """Why it can't be distributed (or needn't be), in a line; None when it can."""
        outcome = self.outcome
        if isinstance(outcome, Unchanged):
            return outcome.message
        if isinstance(outcome, Refusal):
            reasons = "; ".join(dict.fromkeys(reason.message for reason in outcome.reasons))
            why = reasons or "it can't be distributed"
            return f"`{self.name}`, which runs this: {why}" if self.runner else why
        return None if outcome.edits else "there is nothing to change"


_KNOWN: weakref.WeakKeyDictionary[OpenDocument, _Known] = weakref.WeakKeyDictionary()
_KNOWN_RUNNERS: weakref.WeakKeyDictionary[OpenDocument, dict[str, _Known]] = weakref.WeakKeyDictionary()
_MOST_RUNNERS = 3  # that are looked at for a module


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


def may_run_others(session: Session, opened: OpenDocument, analysis: Analysis) -> bool:
    """Whether a document may train with what it imports, as far as is known. Notebooks are in no index: of each it is tried."""
    is_notebook = isinstance(opened.document, NotebookDocument)
    return is_notebook or session.may_run(opened.path or "", bool(analysis.summary.loops))


def script_of(session: Session, opened: OpenDocument) -> Examination | None:
    """The newest version of a document, with the files that it imports as they are now; None for what has no
    path, and so imports none."""
    options = opened.settings.options
    if "://" in opened.document.path:
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


def subject_of(session: Session, opened: OpenDocument) -> Subject:
    """What is distributed where the newest version of a document is asked to be: itself; or, where nothing comes of it by
    itself, the first script that runs it and can be distributed, or the first of all."""
    script = script_of(session, opened)
    own = script.outcome if script is not None else opened.analysis(opened.settings.options).outcome
    runners = [] if isinstance(own, Plan) else list(runners_of(session, opened))
    found = [Subject(runner.outcome, path, runner) for path, runner in runners]
    plans = (subject for subject in found if isinstance(subject.outcome, Plan))
    return next(plans, found[0] if found else Subject(own, "", script))


def plan_within(session: Session, opened: OpenDocument) -> Plan | None:
    """What distributing changes in the newest version of a document: as a module of the first of the scripts that run it, or as
    a script. None where it changes nothing."""
    _, runner = next(runners_of(session, opened), ("", None))
    outcome = runner.outcome if runner is not None else outcome_of(session, opened)
    return part_of(outcome, opened.document)


def part_of(outcome: Plan | Refusal | Unchanged, document: Document) -> Plan | None:
    """What a plan changes in one of its files, counted from the file's start; None: nothing."""
    if not isinstance(outcome, Plan):
        return None
    from horovodize.distribute_project import file_plans

    return next((plan for plan in file_plans(outcome) if plan.document is document), None)


def runners_of(session: Session, module: OpenDocument) -> Iterator[tuple[str, Examination]]:
    """The scripts that run a document as a module of theirs, by path, as they are now. A script may be its own runner's
    module: it is left out."""
    for path in session.runners(module.path or "")[:_MOST_RUNNERS]:
        examined = _examined_at(session, module, path)
        if examined is not None and any(member is module.document for member in examined.members):
            yield path, examined


def _examined_at(session: Session, module: OpenDocument, path: str) -> Examination | None:
    """A script of which a document is a module; None where it can't be read."""
    files, options = session.files, module.settings.options
    known = _KNOWN_RUNNERS.setdefault(module, {}).get(path)
    if known is not None and known.options == options and files.unchanged(known.asked):
        return known.script
    script = files.load(path)
    if script is None:
        return None
    from horovodize.distribute_project import Examination

    examined = Examination(script, files.load, options)
    examined.read()
    _KNOWN_RUNNERS[module][path] = _Known(module.version, options, files.asked, examined)
    return examined


def edit_of(session: Session, opened: OpenDocument) -> types.WorkspaceEdit | None:
    """The edit that distributes a document's newest version (or the script that runs it), with what belongs to it; None when
    there is none."""
    subject = subject_of(session, opened)
    if not isinstance(subject.outcome, Plan):
        return None
    from horovodize.rules import RULES

    titles = {rule.id: rule.title for rule in RULES.values()}
    encoding, client, open_as = session.encoding, session.client, session.files.open_as
    if not subject.runner:
        return plan_edit(opened, subject.outcome, titles, encoding, client, open_as)
    assert subject.examined is not None
    buffer = open_as(subject.examined.script)
    return plans_edit([(buffer, subject.outcome)], titles, encoding, client, open_as)
