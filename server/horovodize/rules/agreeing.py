"""A test that comes out alike on all ranks: part of G4."""

from __future__ import annotations

import ast
from enum import Enum

from horovodize.facts.answers import Unknown, Varies
from horovodize.facts.sources import Source
from horovodize.rules.draft import Draft
from horovodize.source import Edit
from horovodize.summary.syntax import Loop

_WHAT = "Leave the loop on all ranks together"
WHY = "A rank that leaves the loop alone leaves the others waiting for it for ever."
ALIKE = "all ranks must come to the same decision here: one that leaves alone stalls the others"


class Cause(Enum):
    """What decides a condition in a training loop."""

    COUNT = "the same on all ranks"
    VALUE = "a value of the rank's own, or one that is not seen"
    GAME = "the course of a simulation in the loop"


def cause_of(draft: Draft, test: ast.expr, loop: Loop) -> Cause:
    """What decides a test in a loop, or its head."""
    cause = Cause.COUNT
    for reason in differing(draft, test):
        if (
            isinstance(reason, Varies)
            and reason.kind is Source.GAME
            and draft.syntax.inside(reason.where, loop)
        ):
            return Cause.GAME
        cause = Cause.VALUE
    return cause


def differing(draft: Draft, e: ast.AST) -> list[Varies | Unknown]:
    """Why a value may differ between ranks, but for what has been made the same on all of them."""
    return [r for r in draft.facts.uniform.reasons(e) if r.where not in draft.agreed]


def agree(
    draft: Draft, test: ast.expr, doubt: str = "", why: str = WHY, what: str = _WHAT, rule: str = ""
) -> None:
    """`test` → `any_rank(test)`, once."""
    if test in draft.done:
        return
    draft.done.add(test)
    if draft.drive.in_traced(test):
        draft.refuse("HVD205", test, ALIKE)
        return
    if draft.in_graph:
        draft.session_config(draft.sites.any_v1)
    edits = Edit.around(draft.module.span(test), f"{draft.helper('any_rank')}(", ")")
    draft.change(
        rule or ("S5" if draft.in_graph else "G4"),
        test,
        what,
        why,
        edits,
        doubt=doubt,
    )
