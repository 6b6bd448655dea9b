"""A script and what it imports of its project → a plan over several files, or what can be said of the script alone.

The project is read where the script imports modules of it. What the rules make of the whole wins over what they make of the
script alone, which can't see where a model, an optimizer or a step comes from; but a script that can be distributed by
itself is not refused for what stands in another file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document, Edit
from horovodize.source.project import ProjectDocument
from horovodize.summary import summarize
from horovodize.summary.project import Loader, summarize_project


@dataclass(frozen=True)
class FileEdits:
    """The edits of one file, in the order of its text."""

    document: Document
    edits: Sequence[Edit]


def distribute_script(
    script: Document, load: Loader, options: Options | None = None
) -> Plan | Refusal | Unchanged:
    """The plan that distributes a script. Its document is a ProjectDocument where other files have to change with it:
    `files` tells them apart. `load` gives a file of the project by its path. Never raises because of what is in a file."""
    alone = distribute(summarize(script), options)
    if isinstance(alone, Unchanged) or script.problem is not None:
        return alone
    project = summarize_project(script, load)
    if project is None:
        return alone
    whole = distribute(project, options)
    if isinstance(whole, Plan) and len(files(whole)) > 1:
        return whole
    if isinstance(alone, Refusal) and isinstance(whole, Refusal) and project.loops:
        return whole
    return alone


def files(plan: Plan) -> list[FileEdits]:
    """The files that a plan changes, with their edits."""
    if isinstance(plan.document, ProjectDocument):
        return [FileEdits(document, edits) for document, edits in plan.document.by_member(plan.edits)]
    return [FileEdits(plan.document, plan.edits)]
