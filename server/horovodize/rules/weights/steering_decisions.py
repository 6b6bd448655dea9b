"""Decisions by a rank's own rows that change what later losses are made with: part of G2.

`if np.mean(losses[-50:]) < 0.3: length += 2` of a curriculum, `if kl > 2 * target: beta *= 2`: ranks that decide alone would
train for other aims, on rows of other lengths. They decide by the mean of their losses, or all of them when one does; else it
is asked."""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.binding import Binding
from horovodize.python.syntax import Loop
from horovodize.rules.deciding import deciding_averages
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import agree, can_agree, differing

_WHAT = "Change what the loss is made with on all ranks together"
_WHY = "Ranks whose losses are made with other numbers train for other aims."
_DOUBT = "each rank decides this by its own rows: now all of them do it when one of them does"
_DECIDED = (
    "each rank decides by its own rows whether this changes, and later losses are made with it: ranks would train for other "
    "aims; decide by a mean over all ranks (`hvd.allreduce`)"
)


def deciding(draft: Draft, b: Binding, turns: set[Loop]) -> list[ast.If]:
    """The decisions of each turn by which a rank alone would change something."""
    function = draft.syntax.function(b.statement)
    outside = all(
        draft.syntax.function(loop) is not function for loop in turns
    )  # each turn calls the function
    return [
        decision
        for decision, _ in draft.syntax.conditions(b.statement)
        if isinstance(decision, ast.If)
        and not draft.was(decision.test, Agreed)
        and (outside or any(draft.syntax.inside(decision, loop) for loop in turns))
        and any(isinstance(r, Varies) and r.kind is Source.ROWS for r in differing(draft, decision.test))
    ]


def decide_alike(draft: Draft, b: Binding, decisions: list[ast.If]) -> None:
    """Lets ranks decide together whether something changes, or asks."""
    for decision in reversed(decisions):  # from the outside in
        test = decision.test
        if draft.drive.in_traced(test) or not can_agree(draft, test):
            if draft.once("steered alone", b.statement):
                draft.ask("G2", b.statement, _WHAT, _WHY, _DECIDED)
        elif not means.decide_alike(draft, test) and not deciding_averages.decide_alike(draft, test):
            agree(draft, test, _DOUBT, _WHY, _WHAT, "G2")


__all__ = ["decide_alike", "deciding"]
