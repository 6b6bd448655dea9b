"""A script and what it imports of its project → a plan over several files, or what can be said of the script alone.

What the rules make of the whole wins over what they make of the script alone, which can't see where a model, an optimizer or a
step comes from. A script that can be distributed by itself is not refused for what stands in another file, unless that file
trains, too, or is distributed already: then the script alone would be half of it. What is refused in the script itself is
refused because more is known.
"""

from __future__ import annotations

import ast
import os.path
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from horovodize import distribute as single
from horovodize import restrictions
from horovodize.options import Options
from horovodize.plan import Plan, Reason, Refusal, Unchanged
from horovodize.python.interface import Interface
from horovodize.restrictions.violation import Violation
from horovodize.source import Document, Edit, Span
from horovodize.source.project import ProjectDocument
from horovodize.summary import ModuleSummary, summarize
from horovodize.summary.project import InterfaceOf, Loader, Project, ProjectSummary, read_project

_DISTRIBUTED_ALREADY = "HVD202"


@dataclass(frozen=True)
class FileEdits:
    """The edits of one file, in the order of its text."""

    document: Document
    edits: Sequence[Edit]


def distribute_script(
    script: Document, load: Loader, options: Options | None = None, path: str | None = None
) -> Plan | Refusal | Unchanged:
    """The plan that distributes a script. Its document is a ProjectDocument where other files have to change with it: `files`
    and `file_plans` tell them apart. `load` gives a file of the project by its path; `path` is the script's, where its
    document is called otherwise. Never raises because of what is in a file."""
    return Examination(script, load, options, path).outcome


class Examination:
    """A script by itself and with what it imports of its project, each part made when it is first asked for."""

    def __init__(
        self,
        script: Document,
        load: Loader,
        options: Options | None = None,
        path: str | None = None,
        summary: ModuleSummary | None = None,
        outcome: Callable[[], single.Outcome] | None = None,
        interface_of: InterfaceOf = Interface.of,
    ) -> None:
        """As `distribute_script`; `summary` is that of the script by itself, where there is one, and `outcome` gives what
        distributing it by itself comes to, where somebody knows; `interface_of` is `read_project`'s."""
        self._outcome = outcome
        self.script = script
        self.options = options
        self._load, self._path, self._interface_of = load, path, interface_of
        self._summary = summary

    @cached_property
    def alone(self) -> ModuleSummary:
        """What is known of the script by itself."""
        return self._summary or summarize(self.script)

    def read(self) -> None:
        """Loads all files that the script imports, now and not when they are first needed."""
        _ = self._project

    @cached_property
    def outcome(self) -> Plan | Refusal | Unchanged:
        """What distributing the script comes to."""
        alone = self._outcome() if self._outcome else single.distribute(self.alone, self.options)
        if isinstance(alone, Unchanged) or self._project is None:
            return alone
        if self.together is not None:
            together = _together(self.together, alone, self.options)
            if together is not None:
                return together
        return _with_unread(alone, self._project) if isinstance(alone, Refusal) else alone

    @cached_property
    def together(self) -> ProjectSummary | None:
        """What is known of the script with its modules; None where it has none, or nothing in all of them can train."""
        project = self._project
        if project is None or len(project.members) < 2 or not project.trains:
            return None
        return ProjectSummary(project)

    @cached_property
    def findings(self) -> list[tuple[Document, Violation]]:
        """What is found in the script and its modules, each with its file. What nothing in the script says, a module may: with
        a loop in them, what is found in the whole goes, and not what is found in the script alone."""
        together = self.together
        if together is None or not together.loops:
            return [(self.script, violation) for violation in restrictions.check(self.alone, self.options)]
        return [
            in_own_file(together.document, violation)
            for violation in restrictions.check(together, self.options)
        ]

    @cached_property
    def lines_run(self) -> dict[str, list[tuple[int, int]]]:
        """Of each imported module, by its path, the lines (from 0, the last one included) of the statements that the script may
        run: what is found there by looking at the module alone says less than `findings`."""
        together = self.together
        if together is None or not together.loops or together.module is None:
            return {}
        whole = together.document
        found: dict[str, list[tuple[int, int]]] = {}
        for index, tree in enumerate(whole.trees[:-1]):
            lines = found.setdefault(whole.members[index].path, [])
            first = whole.first_line(index)
            for statement in tree.body:
                inner = statement.body if isinstance(statement, ast.ClassDef) else [statement]
                lines += [(s.lineno - 1 - first, (s.end_lineno or s.lineno) - 1 - first) for s in inner]
        return found

    @property
    def members(self) -> list[Document]:
        """The files that it runs with, and itself."""
        return list(self._project.members) if self._project is not None else [self.script]

    @cached_property
    def _project(self) -> Project | None:
        project = read_project(self.script, self._load, self._path, self._interface_of)
        del self._load  # it may hold all that an editor has open, and those documents what is known of them
        return project


def _together(
    project: ProjectSummary, alone: Plan | Refusal, options: Options | None
) -> Plan | Refusal | None:
    """What comes of the script and its modules; None where what comes of the script alone says it better."""
    whole = single.distribute(project, options)
    match whole:
        case Plan():
            return _of_script(whole)
        case Unchanged():
            return _half_distributed(project)
        case Refusal() if isinstance(alone, Plan):
            document, script = project.document, len(project.document.members) - 1
            elsewhere = any(document.member_at(loop.site.start) != script for loop in project.loops)
            already = any(r.code == _DISTRIBUTED_ALREADY for r in whole.reasons)
            own = any(document.member_at(r.span.start) == script for r in whole.reasons)
            return whole if elsewhere or already or own else None
        case Refusal():
            return whole if project.loops or _trains_elsewhere(project, whole) else None


def _trains_elsewhere(project: ProjectSummary, refusal: Refusal) -> bool:
    """Whether there are train ops, and a reason why no loop of this project's runs them: that of `slim.learning.train` does."""
    builds = project.sites is not None and bool(project.sites.graph_minimizes)
    return builds and any(reason.code == "HVD202" for reason in refusal.reasons)


def _of_script(whole: Plan) -> Plan:
    """A plan of the script itself where nothing else changes and nothing is said of other files."""
    document = whole.document
    assert isinstance(document, ProjectDocument)
    plans = file_plans(whole)
    return plans[0] if len(plans) == 1 and plans[0].document is document.script else whole


def _half_distributed(project: ProjectSummary) -> Refusal | None:
    """The refusal of a script of which a module uses Horovod; None where nothing trains."""
    module = project.module
    if module is None or not project.loops:
        return None
    for binding in module.scopes.imports:
        if binding.imported.split(".", maxsplit=1)[0] in ("horovod", "horovod_keras3"):
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


def file_plans(plan: Plan) -> list[Plan]:
    """A plan as one for each file that it changes or says something of, in the order of the project: the script last."""
    whole = plan.document
    if not isinstance(whole, ProjectDocument):
        return [plan]
    found: list[Plan] = []
    for index, document in enumerate(whole.members):
        changes = []
        for change in plan.changes:
            own = tuple(
                whole.local_edit(index, e) for e in change.edits if whole.member_at(e.span.start) == index
            )
            here = whole.member_at(change.span.start) == index
            if own or (here and not change.edits):
                span = whole.local_span(index, change.span) if here else own[0].span
                changes.append(replace(change, span=span, edits=own))
        notes = [
            replace(n, span=whole.local_span(index, n.span))
            for n in plan.notes
            if whole.member_at(n.span.start) == index
        ]
        scalings = [
            replace(s, span=whole.local_span(index, s.span))
            for s in plan.scalings
            if whole.member_at(s.span.start) == index
        ]
        beside = plan.beside if document is whole.script else ()
        if changes or notes:
            found.append(Plan(document, changes, notes, scalings=scalings, beside=beside))
    return found


def in_own_file(document: Document, violation: Violation) -> tuple[Document, Violation]:
    """The file that a finding is in, and the finding there. What belongs to it in other files is left out."""
    own, span = in_file(document, violation.span)
    places = [(note, *in_file(document, note.span)) for note in violation.related]
    related = tuple(replace(note, span=place) for note, file, place in places if file is own)
    fixes = violation.fixes if own is document else ()
    return own, replace(violation, span=span, related=related, fixes=fixes)


def in_file(document: Document, span: Span) -> tuple[Document, Span]:
    """The file that a span of a document is in, and the span there."""
    if not isinstance(document, ProjectDocument):
        return document, span
    index = document.member_at(span.start)
    return document.members[index], document.local_span(index, span)
