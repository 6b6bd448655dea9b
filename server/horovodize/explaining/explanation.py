"""What a hover says: what the thing at a place is, and what distributing the document would do to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from horovodize.documentation import page_address
from horovodize.explaining.collective import describe_collective
from horovodize.explaining.markup import Markup, code
from horovodize.explaining.statement import statement_at
from horovodize.plan import Change, Plan, Refusal, Unchanged
from horovodize.source import Span

if TYPE_CHECKING:
    from horovodize.explaining.view import View
    from horovodize.summary import ModuleSummary, RoleAt, TrainingLoop

_MOST = 3  # changes that are named; a hover is read at a glance


def explain(view: View, offset: int, markup: Markup) -> Span | None:
    """Explains what is at an offset of the file that is looked at. The span in it that it is about; None: nothing is known
    there."""
    offset += view.start
    roles = [
        (span, role)
        for role in view.summary.roles
        for span in (role.span, *role.uses)
        if role.role != "loop" and _holds(span, offset)
    ]
    loops = [
        (span, loop) for loop in view.summary.loops for span in (loop.site, loop.span) if _holds(span, offset)
    ]
    met = describe_collective(view, offset, markup)
    if not roles and not loops:
        return view.to_own(met) if met is not None else None
    # a name inside a loop's statement is more particular than the loop; so is the shorter of two
    span, role = min(roles, key=lambda found: _length(found[0]), default=(None, None))
    around, loop = min(loops, key=lambda found: _length(found[0]), default=(None, None))
    about = span or around
    assert about is not None
    here, there = [statement_at(view.document, offset) or about], []
    if role is not None:
        _describe_role(role, view, markup)
        there += [role.span, *role.uses]
    if loop is not None:
        _describe_loop(loop, view, markup)
        here += [loop.span, loop.site]
    _consequences(view, here, there, markup)
    return view.to_own(about)


def explain_problem(summary: ModuleSummary, offset: int, markup: Markup) -> Span | None:
    """Says in the line where it stands why nothing is known of a document that never parsed."""
    problem, lines = summary.problem, summary.document.lines
    if problem is None or lines.line_of(problem.span.start) != lines.line_of(offset):
        return None
    markup.paragraph("This file can't be analysed", strong=True)
    markup.paragraph(problem.message)
    return problem.span


def _describe_loop(loop: TrainingLoop, view: View, markup: Markup) -> None:
    where = f" in {code(loop.function)}" if loop.function else ""
    markup.paragraph(f"{loop.kind.label} training loop{where}", strong=True)
    known = {"Model": loop.model, "Optimizer": loop.optimizer}
    markup.bullets(f"{what}: {code(name)}" for what, name in known.items() if name)
    if isinstance(view.outcome, Plan):
        for scaling in view.outcome.scalings:
            if scaling.span == loop.site:
                markup.paragraph(f"{scaling.sentence}.")
    markup.paragraph(f"For {view.world.text}.")


def _describe_role(role: RoleAt, view: View, markup: Markup) -> None:
    line = view.line_words(role.span)
    spelled = role.detail.casefold() == role.role  # the detail is but the role's name as it is written
    title = role.detail if spelled else role.role.capitalize()
    markup.paragraph(f"{title} {code(role.name)}".rstrip(), strong=True)
    markup.paragraph(f"From {line}." if spelled or not role.detail else f"{role.detail} ({line})")


def _consequences(view: View, here: list[Span], there: list[Span], markup: Markup) -> None:
    """What distributing does `here`, at the place that is looked at, and `there`, where the same thing is made or used."""
    outcome = view.outcome
    if isinstance(outcome, Unchanged):
        markup.paragraph(outcome.message)
    elif isinstance(outcome, Refusal):
        markup.paragraph("It can't be distributed as it stands:", strong=True)
        markup.bullets(
            f"{reason.code}: {reason.message} ({view.line_words(reason.span)})" for reason in outcome.reasons
        )
    elif outcome is not None:
        _changes(outcome, view, here, there, markup)


def _changes(plan: Plan, view: View, here: list[Span], there: list[Span], markup: Markup) -> None:
    said = [(_change(change), change) for change in plan.changes if _touches(change.span, here)]
    said += [
        (f"{_change(change)} ({view.line_words(change.span)})", change)
        for change in plan.changes
        if _touches(change.span, there) and not _touches(change.span, here)
    ]
    if said:
        markup.paragraph("Distributing with Horovod would do here:", strong=True)
        said.sort(key=lambda item: item[1].sure)  # what is to be confirmed is never among those left out
        texts = {text: change.rule for text, change in said}  # two changes of one line may read the same
        most = max(_MOST, sum(not change.sure for _, change in said))
        shown = list(texts)[:most]
        markup.linked_bullets((text, page_address(texts[text]), "Why") for text in shown)
        if others := len(plan.changes) - sum(text in shown for text, _ in said):
            where = "this file and those that belong to it" if view.several else "this file"
            markup.paragraph(f"and {others} more change{'s' if others > 1 else ''} in {where}.")
    elif plan.changes:
        markup.paragraph("Distributing with Horovod changes nothing here.")
    markup.bullets(f"Note: {note.message}" for note in plan.notes if _touches(note.span, here))


def _touches(span: Span, places: list[Span]) -> bool:
    return any(span.overlaps(place) for place in places)


def _change(change: Change) -> str:
    doubt = "" if change.sure else f" To be confirmed: {change.doubt}"
    return f"{change.rule}: {_sentence(change.what)}{doubt}"


def _sentence(text: str) -> str:
    return text if text.rstrip().endswith((".", "!", "?")) or not text else f"{text}."


def _holds(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def _length(span: Span) -> int:
    return span.end - span.start
