"""Updates that come from some step on, `if step > 100: opt.apply_gradients(…)`, by the gradients of their own turn: part of G5.

Gradients that turns have added up are applied after as many of a rank's own; there is no other test that applies what is taken
whatever it decides."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import guarded
from horovodize.rules.wrapping import after_averaging
from horovodize.summary.site_kinds import Update

_DEPTH = 6  # names from one to another


def applies_of_turn(draft: Draft, test: ast.expr) -> bool:
    """Whether what is decided by a test applies the gradients of its own turn, and none that turns have added up: from some
    step on another part of the network trains, too."""
    places = [*guarded.decided(draft, test)]
    updates = [u for u in draft.sites.updates if any(draft.drive.reaches(s, {u.call}) for s in places)]
    return bool(updates) and all(_is_of_own_turn(draft, u) for u in updates)


def _is_of_own_turn(draft: Draft, update: Update) -> bool:
    gradients = after_averaging.gradients_of(draft, update)
    return gradients is not None and _is_made_of(draft, gradients, update, _DEPTH)


def _is_made_of(draft: Draft, e: ast.expr, update: Update, depth: int) -> bool:
    """Whether something is made of the gradients of one turn alone, by names that the turn sets: clipped, weighed."""
    if not depth or e in update.gradients:
        return e in update.gradients
    match e:
        case ast.Name():
            bound = draft.module.scopes.reaching(e)
            return bool(bound) and all(
                b.kind == "assign"
                and b.value is not None
                and draft.syntax.function(b.statement) is draft.syntax.function(update.call)
                and draft.syntax.loops(b.statement)[:1] == draft.syntax.loops(update.call)[:1]
                and _is_made_of(draft, b.value, update, depth - 1)
                for b in bound
            )
        case ast.ListComp(generators=[ast.comprehension(iter=whole)]):
            return _is_made_of(draft, whole, update, depth - 1)
        case ast.Call(func=ast.Name(id="zip"), args=parts):
            return all(_is_made_of(draft, p, update, depth - 1) for p in parts)
        case ast.Call(args=[first, *_]) if (draft.names.of(e.func) or "").startswith("tensorflow.clip_by"):
            return _is_made_of(draft, first, update, depth - 1)
    return False


__all__ = ["applies_of_turn"]
