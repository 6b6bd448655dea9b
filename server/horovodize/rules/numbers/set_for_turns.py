"""Variables that each step sets for itself by the number of its turn: `phase.assign(tf.where(step % 2 == 0, 1.0, 0.0))`.

As many updates in a hundred are made with each value as before; divided, `step % 1 == 0` would always hold. Part of G5."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.target_networks import losses_of

_OF_LOSSES = 2000  # nodes that a loss is made of


def is_made_for_loss(draft: Draft, test: ast.expr) -> bool:
    """Whether a test is part of what a variable is set to that the loss of the turn is made with."""
    kept = _set_by(draft, test)
    if kept is None:
        return False
    text = ast.unparse(kept)
    made_of = draft.values.depends(losses_of(draft), _OF_LOSSES)
    return any(isinstance(n, type(kept)) and ast.unparse(n) == text for n in made_of)


def _set_by(draft: Draft, test: ast.expr) -> ast.expr | None:
    """`phase` of `phase.assign(…)` around a test."""
    for a in draft.syntax.ancestors(test):
        if isinstance(a, ast.stmt):
            return None
        if isinstance(a, ast.Call) and isinstance(a.func, ast.Attribute) and a.func.attr == "assign":
            return a.func.value
    return None


__all__ = ["is_made_for_loss"]
