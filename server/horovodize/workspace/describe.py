"""From what the engine knows of a script to what is kept of it: its state, its loops with their roles, its restrictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from horovodize.options import Options
from horovodize.source import Document, Span, UndecodableSource
from horovodize.workspace.file_summary import FileSummary, Loop, Restriction, Role, State
from horovodize.workspace.glance import mentions_tensorflow
from horovodize.workspace.place import Place, place_in

if TYPE_CHECKING:
    from horovodize.distribute_project import Examination
    from horovodize.plan import Plan, Refusal, Unchanged
    from horovodize.restrictions.violation import Violation
    from horovodize.summary import ModuleSummary

HINT = "HVD001"  # says that a loop can be distributed: no restriction
# Where a span of a document is. Of a project: of the whole's text.
Locate = Callable[[Document, Span], Place]


def summarize_file(data: bytes, path: str, options: Options | None = None) -> FileSummary:
    """What is known of a file by itself, from its bytes. Never raises because of them."""
    if not mentions_tensorflow(data):
        return FileSummary()
    try:
        document = Document.from_bytes(data, path)
    except UndecodableSource as e:
        return FileSummary(State.UNREADABLE, str(e))
    return summarize_document(document, options)


def summarize_document(document: Document, options: Options | None = None) -> FileSummary:
    """What is known of a document by itself."""
    from horovodize.restrictions import check
    from horovodize.summary import summarize

    options = options or Options()
    summary = summarize(document)
    return describe(summary, check(summary, options), options, place_in)


def describe(
    summary: ModuleSummary,
    violations: Sequence[Violation],
    options: Options,
    locate: Locate,
    outcome: Plan | Refusal | Unchanged | None = None,
) -> FileSummary:
    """What is known of a document, given its violations. `outcome`: what distributing it comes to; None: that is found out
    where the violations do not say."""
    document = summary.document
    if summary.problem is not None:
        where = document.place(summary.problem.span.start).line_words
        problem = f"{where}: {summary.problem.message}"
        return FileSummary(State.UNREADABLE, problem, (), _restrictions(document, violations, locate))
    if not summary.loops:
        return FileSummary()
    state, problem = _state(summary, violations, options, outcome)
    restrictions = _restrictions(document, violations, locate)
    return FileSummary(state, problem, tuple(_loops(summary, locate)), restrictions)


def describe_script(
    script: Examination, alone: Callable[[], FileSummary], options: Options, locate: Locate
) -> FileSummary:
    """What is known of a script with the modules of its project; `alone` gives what is known of the script by itself."""
    from horovodize.distribute_project import file_plans
    from horovodize.plan import Plan
    from horovodize.restrictions import check

    together = script.together
    if together is None or not together.loops:
        return alone()
    outcome = script.outcome
    whole = describe(together, check(together, options), options, locate, outcome)
    changed: tuple[str, ...] = ()
    if isinstance(outcome, Plan):
        changed = tuple(p.document.path for p in file_plans(outcome) if p.edits)
    return FileSummary(
        whole.state,
        whole.problem,
        whole.loops,
        whole.restrictions,
        tuple(path for path in changed if path != script.script.path),
        tuple((path, tuple(lines)) for path, lines in script.lines_run.items()),
    )


def _state(
    summary: ModuleSummary,
    violations: Sequence[Violation],
    options: Options,
    outcome: Plan | Refusal | Unchanged | None,
) -> tuple[State, str]:
    from horovodize.distribute import distribute
    from horovodize.plan import Refusal, Unchanged

    if outcome is None and any(v.code == HINT for v in violations):
        return State.DISTRIBUTABLE, ""
    outcome = outcome or distribute(summary, options)
    if isinstance(outcome, Unchanged):
        return State.DISTRIBUTED, ""
    if isinstance(outcome, Refusal):
        return State.BLOCKED, "; ".join(dict.fromkeys(reason.message for reason in outcome.reasons))
    return State.DISTRIBUTABLE, ""


def _restrictions(
    document: Document, violations: Sequence[Violation], locate: Locate
) -> tuple[Restriction, ...]:
    return tuple(
        Restriction(v.code, v.name, v.message, locate(document, v.span), v.severity.value, v.deprecated)
        for v in violations
        if v.code != HINT
    )


def _loops(summary: ModuleSummary, locate: Locate) -> list[Loop]:
    from horovodize.workspace.loop_roles import roles_by_loop

    document = summary.document
    found = []
    for loop, roles in roles_by_loop(summary):
        about = tuple(Role(r.role, r.name, locate(document, r.span), r.detail) for r in roles)
        where = locate(document, loop.span)
        found.append(Loop(loop.kind.label, where, loop.function, loop.describe(), about))
    return found


def place_in_project(document: Document, span: Span) -> Place:
    """The place of a span of a project's text, or of a script alone, for the script's summary."""
    from horovodize.distribute_project import in_file
    from horovodize.source.project import ProjectDocument

    member, own = in_file(document, span)
    of_script = not isinstance(document, ProjectDocument) or member is document.script
    return place_in(member, own, "" if of_script else member.path)
