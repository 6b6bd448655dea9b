"""A script and what it imports of its project, distributed in memory: the texts that shall run, and where they belong."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from horovodize.options import Options
from horovodize.plan import Change, Plan, Refusal, Unchanged
from horovodize.source import Document, Place, UndecodableSource
from horovodize.source.notebook import NotebookFile
from horovodize.source.script import NoScript, as_script
from horovodize.workspace.on_disk import ProjectOnDisk


@dataclass(frozen=True)
class PreparedFile:
    """One file as it shall run.

    source    the user's file
    target    where it stands when it runs: `source`, but for a notebook, which runs as a script beside it
    document  what was read
    data      what shall run
    plan      what was changed in it; None where nothing was"""

    source: Path
    target: Path
    document: Document
    data: bytes
    plan: Plan | None = None

    @property
    def text(self) -> str:
        return self.data[len(self.document.encoded.bom) :].decode(self.document.encoded.encoding)


@dataclass(frozen=True)
class Problem:
    """Why a script can't run distributed: a code, a message, and the place in one of its files."""

    path: str
    place: Place
    code: str
    message: str


@dataclass(frozen=True)
class Prepared:
    """What a run needs.

    script    the user's file
    files     those that differ from what the user has, and the script, which is the last; empty where it is refused
    members   all files of the project that the script runs with, as far as they are known
    refused   why it can't run distributed
    message   what is to be said where nothing had to be changed
    beside    our own modules that have to stand beside the script
    left_out  commands of a notebook that its script does without"""

    script: Path
    files: Sequence[PreparedFile] = ()
    members: Sequence[Path] = ()
    refused: Sequence[Problem] = ()
    message: str = ""
    beside: Sequence[str] = ()
    left_out: Sequence[tuple[Place, str]] = ()

    @property
    def main(self) -> PreparedFile:
        """The script's own file. Only where it is not refused."""
        return self.files[-1]

    @property
    def plans(self) -> list[Plan]:
        return [file.plan for file in self.files if file.plan is not None]

    @property
    def to_confirm(self) -> list[tuple[Document, Change]]:
        """What the user is asked."""
        return [(plan.document, change) for plan in self.plans for change in plan.to_confirm]


def shown(path: Path) -> str:
    """A file as messages call it: relative to the current folder, if it's in there."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def prepare(script: Path, options: Options | None = None, *, distributed: bool = True) -> Prepared:
    """A script or a notebook as it shall run: distributed, or as it is.

    Raises OSError for a file that can't be read."""
    called = shown(script)
    data = Path(script).read_bytes()
    script = Path(os.path.abspath(script))
    is_notebook = script.suffix == ".ipynb"
    try:
        document = NotebookFile.from_bytes(data, called) if is_notebook else Document.from_bytes(data, called)
    except UndecodableSource as e:
        return Prepared(script, refused=[Problem(called, Place(e.line, e.column), "HVD003", str(e))])
    project = ProjectOnDisk(script)
    if not distributed:
        return _with_script(Prepared(script, [], _members(document, project)), document, data, None)
    from horovodize.distribute_project import Examination, file_plans
    from horovodize.summary import summarize

    examination = Examination(document, project.load, options, script.as_posix(), summarize(document))
    outcome = examination.outcome
    if isinstance(outcome, Refusal):
        return Prepared(script, refused=_problems(outcome))
    members = [script if d is document else project.file(d) for d in examination.members]
    if isinstance(outcome, Unchanged):
        unchanged = Prepared(script, [], members, message=outcome.message)
        return _with_script(unchanged, document, data, None)
    files, own = [], None
    for plan in file_plans(outcome):
        if plan.document is document:
            own = plan
            continue
        path = project.file(plan.document)
        files.append(PreparedFile(path, path, plan.document, plan.document.edited(plan.edits), plan))
    return _with_script(Prepared(script, files, members, beside=outcome.beside), document, data, own)


def _with_script(prepared: Prepared, document: Document, data: bytes, plan: Plan | None) -> Prepared:
    """With the script's own file, which is the last: of a notebook the script that its code makes."""
    script = prepared.script
    if not isinstance(document, NotebookFile):
        data = document.edited(plan.edits) if plan is not None else data
        file = PreparedFile(script, script, document, data, plan)
        return replace(prepared, files=[*prepared.files, file])
    try:
        made = as_script(document, plan.edits if plan else [])
    except NoScript as e:
        return Prepared(script, refused=[Problem(document.path, document.place(e.offset), "HVD006", str(e))])
    file = PreparedFile(script, script.with_suffix(".py"), document, made.text.encode(), plan)
    left_out = [(one.place, one.text) for one in made.left_out]
    return replace(prepared, files=[*prepared.files, file], left_out=left_out)


def _members(document: Document, project: ProjectOnDisk) -> list[Path]:
    from horovodize.summary.project import read_project

    read = read_project(document, project.load, project.script.as_posix())
    members = read.members if read is not None else [document]
    return [project.script if d is document else project.file(d) for d in members]


def _problems(refusal: Refusal) -> list[Problem]:
    from horovodize.distribute_project import in_file

    found = []
    for reason in refusal.reasons:
        own, span = in_file(refusal.document, reason.span)
        found.append(Problem(own.path, own.place(span.start), reason.code, reason.message))
    return found
