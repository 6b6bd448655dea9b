"""A script and what it imports of its project → a plan over several files, or what can be said of the script alone.

What the rules make of the whole wins over what they make of the script alone, which can't see where a model, an optimizer or a
step comes from. A script that can be distributed by itself is not refused for what stands in another file, unless that file
trains, too, or is distributed already: then the script alone would be half of it.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass, replace

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Reason, Refusal, Unchanged
from horovodize.source import Document, Edit, Span
from horovodize.source.project import ProjectDocument
from horovodize.summary import summarize
from horovodize.summary.project import Loader, Project, ProjectSummary, read_project

_DISTRIBUTED_ALREADY = "HVD202"


@dataclass(frozen=True)
class FileEdits:
    """The edits of one file, in the order of its text."""

    document: Document
    edits: Sequence[Edit]


def distribute_script(
    script: Document, load: Loader, options: Options | None = None
) -> Plan | Refusal | Unchanged:
    """The plan that distributes a script. Its document is a ProjectDocument where modules of its project are read with it:
    `files` tells apart which of them change. `load` gives a file of the project by its path. Never raises because of what is
    in a file."""
    alone = distribute(summarize(script), options)
    if isinstance(alone, Unchanged) or script.problem is not None:
        return alone
    project = read_project(script, load)
    if project is None:
        return alone
    if len(project.members) > 1:
        together = _together(ProjectSummary(project), alone, options)
        if together is not None:
            return together
    return _with_unread(alone, project) if isinstance(alone, Refusal) else alone


def _together(
    project: ProjectSummary, alone: Plan | Refusal, options: Options | None
) -> Plan | Refusal | None:
    """What comes of the script and its modules; None where what comes of the script alone says it better."""
    whole = distribute(project, options)
    match whole:
        case Plan():
            return _of_script(whole)
        case Unchanged():
            return _half_distributed(project)
        case Refusal() if isinstance(alone, Plan):
            document, script = project.document, len(project.document.members) - 1
            elsewhere = any(document.member_at(loop.site.start) != script for loop in project.loops)
            already = any(r.code == _DISTRIBUTED_ALREADY for r in whole.reasons)
            return whole if elsewhere or already else None
        case Refusal():
            return whole if project.loops else None


def _of_script(whole: Plan) -> Plan:
    """A plan of the script itself where nothing else changes and nothing is said of other files."""
    document = whole.document
    assert isinstance(document, ProjectDocument)
    places = [e.span for e in whole.edits] + [c.span for c in whole.changes] + [n.span for n in whole.notes]
    if any(document.member_at(span.start) != len(document.members) - 1 for span in places):
        return whole
    changes = [
        replace(c, span=document.in_script(c.span), edits=tuple(document.edit_of_script(e) for e in c.edits))
        for c in whole.changes
    ]
    notes = [replace(n, span=document.in_script(n.span)) for n in whole.notes]
    return Plan(document.script, changes, notes)


def _half_distributed(project: ProjectSummary) -> Refusal | None:
    """The refusal of a script of which a module uses Horovod; None where nothing trains."""
    module = project.module
    if module is None or not project.loops:
        return None
    for binding in module.scopes.imports:
        if binding.imported.split(".", maxsplit=1)[0] == "horovod":
            span = module.span(binding.anchor)
            name = os.path.basename(project.document.members[project.document.member_at(span.start)].path)
            message = (
                f"`{name}`, which the script imports, uses Horovod already: what is left to be done here can't be told; "
                "take Horovod out of it first, or distribute this script by hand"
            )
            return Refusal(project.document, [Reason(_DISTRIBUTED_ALREADY, message, span)])
    return None


def _with_unread(alone: Refusal, project: Project) -> Refusal:
    """A refusal that also says which modules could not be read."""
    reasons = list(alone.reasons)
    for unread in project.unread:
        assert unread.problem is not None
        name, line = os.path.basename(unread.path), unread.lines.line_of(unread.problem.span.start) + 1
        message = f"`{name}`, which this imports, could not be read: line {line}: {unread.problem.message}"
        reasons.append(Reason("HVD003", message, Span(0, 0)))
    return replace(alone, reasons=reasons)


def files(plan: Plan) -> list[FileEdits]:
    """The files that a plan changes, with their edits."""
    if isinstance(plan.document, ProjectDocument):
        return [FileEdits(document, edits) for document, edits in plan.document.by_member(plan.edits)]
    return [FileEdits(plan.document, plan.edits)]
