"""Changes that would hold for the ranks of the start only: what they make is made before the loop, and not again.

A rule says `size()` and `rank()` where it needs them; that is right wherever it runs again with the loop. What runs once is
right only where the state sees to it (rates), or where it doesn't matter later (a line that rank 0 prints)."""

from __future__ import annotations

import ast
import re

from horovodize.plan import Change, Decision, Reason
from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.draft import CORE, HVD, KERAS, LOCAL_RANK, RANK, SIZE, Draft
from horovodize.source import Edit, Move

_ONCE = (
    "this depends on the ranks of the start ({what}), and elastic ranks change; make it in the loop, or where `fit` is "
    "called"
)
_TRACED = (
    "this is traced once, for the ranks of the start ({what}), and elastic ranks change; take it out of the traced "
    "function"
)
_SCHEDULE = (
    "a schedule's rates and steps are those of the ranks of the start; elastic training needs a constant rate"
)
_COUNTED = (
    "this goes by the steps of all ranks, told from those of one by how many ranks there are now; elastic ranks change. Let it "
    "go by the number of the epoch"
)
_DRAWN = "all ranks draw this from one stream, and a rank that joins later doesn't know how far that is"
_RATES = (Decision.SCALED, Decision.SCALED_BY_ROOT)
_COLLECTIVE = re.compile(rf"[{HVD}{CORE}{KERAS}]\.(broadcast|allreduce|allgather|barrier)")


def refuse_what_is_made_once(draft: Draft, loop: ast.stmt) -> None:
    """`loop`: the statement that will run again."""
    if "alike" in draft.helpers:
        drawn = next(
            (c for c in draft.changes if any(draft.helpers["alike"] in draft.new_text(e) for e in c.edits)),
            None,
        )
        draft.reasons.append(_reason(drawn or draft.changes[0], _DRAWN))
    for change in draft.changes:
        if change.rule == "C4":
            draft.reasons.append(_reason(change, _SCHEDULE))
            continue
        if change.decision is Decision.COUNTED:
            draft.reasons.append(_reason(change, _COUNTED))
            continue
        for edit in change.edits:
            text = draft.new_text(edit)
            if not _depends(draft, text):
                continue
            traced = _traced(draft, edit)
            if traced and not _COLLECTIVE.search(text.replace(f"{CORE}.Distributed", "")):
                draft.reasons.append(_reason(change, _TRACED.format(what=change.what)))
            elif (
                not traced
                and not _runs_again(draft, edit.span.start, loop)
                and not _may_run_once(draft, change, text)
            ):
                draft.reasons.append(_reason(change, _ONCE.format(what=change.what)))
            else:
                continue
            break


def _reason(change: Change, message: str) -> Reason:
    return Reason("HVD006", message, change.span)


def growth(draft: Draft) -> str:
    """How rates grow with the number of ranks, as they were scaled: they stay where none was."""
    decisions = {change.decision for change in draft.changes if change.edits}
    if Decision.SCALED in decisions:
        return "linear"
    return "sqrt" if Decision.SCALED_BY_ROOT in decisions else "keep"


def _depends(draft: Draft, text: str) -> bool:
    """Whether inserted text asks for the ranks, or waits for them."""
    asks = any(asked in text for asked in (SIZE, RANK, LOCAL_RANK)) or _COLLECTIVE.search(text) is not None
    return asks or any(re.search(rf"\b{re.escape(name)}\b", text) for name in draft.helpers.values())


def _may_run_once(draft: Draft, change: Change, text: str) -> bool:
    if change.decision in _RATES or change.rule in ("C5", "K2"):
        return True  # the state scales it again
    if change.rule == "D1" and SIZE not in text and RANK not in text:
        return not any(name in text for name in draft.helpers.values())
    return change.rule in ("C6", "C7") and not _COLLECTIVE.search(text) and _is_said(draft, change)


def _is_said(draft: Draft, change: Change) -> bool:
    """Whether a change is about a statement that gives nothing: what it prints, or how much."""
    found = [
        s
        for s in draft.syntax.nodes
        if isinstance(s, ast.stmt) and not hasattr(s, "body") and draft.module.span(s).overlaps(change.span)
    ]
    return bool(found) and all(isinstance(s, ast.Expr) for s in found)


def _around(draft: Draft, edit: Edit | Move) -> list[ast.AST]:
    at = edit.span.start
    return [
        f
        for f in draft.syntax.functions
        if draft.module.span(f.body[0]).start <= at <= draft.module.span(f).end
    ]


def _traced(draft: Draft, edit: Edit | Move) -> bool:
    return any(f in draft.drive.traced for f in _around(draft, edit))


def _runs_again(draft: Draft, at: int, loop: ast.stmt) -> bool:
    """Whether a place runs each time that the loop does, or only after it."""
    if at >= draft.module.span(loop).start:
        around = [f for f in draft.syntax.ancestors(loop) if isinstance(f, FUNCTIONS)]
        if all(at <= draft.module.span(f).end for f in around):
            return True
    function = next(
        (
            f
            for f in reversed(draft.syntax.functions)
            if draft.module.span(f.body[0]).start <= at <= draft.module.span(f).end
        ),
        None,
    )
    if function is None or draft.syntax.inside(loop, function):
        return False
    callers = draft.values.callers(function)
    return bool(callers) and all(_runs_again(draft, draft.module.span(c).start, loop) for c in callers)


__all__ = ["growth", "refuse_what_is_made_once"]
