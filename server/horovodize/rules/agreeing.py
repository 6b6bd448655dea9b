"""A test that comes out alike on all ranks: part of G4."""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft
from horovodize.source import Edit

_WHAT = "Leave the loop on all ranks together"
WHY = "A rank that leaves the loop alone leaves the others waiting for it for ever."
ALIKE = "all ranks must come to the same decision here: one that leaves alone stalls the others"


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
