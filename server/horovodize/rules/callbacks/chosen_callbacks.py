"""Callbacks that only some ranks may get: part of K3.

    if os.path.exists(state):
        model.load_weights(weights)
    else:
        callbacks.append(WarmUp(model))

goes by a file, which another host may not have: rates would go apart without a word, or one rank alone would stop."""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import differing

_WHAT = "Give all ranks the same callbacks"
_WHY = "Ranks whose callbacks differ train at different rates, or wait for each other."
_ASKED = "ranks may get different callbacks here: {why}; decide by something that is the same on every rank"


def ask(draft: Draft, element: ast.expr) -> None:
    """Asks where a test that ranks may decide differently gives one of them a callback."""
    for node in [element, *(o.node for o in draft.values.origins(element) if not o.path)]:
        if not isinstance(node, ast.expr):
            continue
        for around, _ in draft.syntax.conditions(node):
            if _is_rank_0s(draft, around):
                continue
            reasons = [r for r in differing(draft, around.test) if isinstance(r, Varies)]
            if reasons and draft.once("chosen callback", around.test):
                draft.ask("K3", around.test, _WHAT, _WHY, _ASKED.format(why=reasons[0].why))


def _is_rank_0s(draft: Draft, around: ast.AST) -> bool:
    """Whether all ranks go by rank 0's answer to a test, since it decides whether they train (G4)."""
    uniform = draft.facts.uniform
    return (
        isinstance(around, ast.If)
        and (uniform.differs_by_a_file(around.test) or uniform.goes_by_a_read_number(around.test))
        and any(draft.syntax.inside(fit.call, around) for fit in draft.sites.fits)
    )


__all__ = ["ask"]
