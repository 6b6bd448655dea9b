"""Numbers of steps that go by the turn of a loop around, and are 0 in some turns: part of G4.

A share is at least one step, or few steps would be none. Of no steps it is none: where some turns take none, as a game's turns
between two updates, `n and max(1, n // hvd.size())` takes none there on any number of ranks, one among them."""

from __future__ import annotations

import ast

from horovodize.python.variables import bound_names
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import walk

_LIMIT = 200


def may_be(draft: Draft, count: ast.expr) -> bool:
    """Whether a number of steps is made of the number of a turn of a loop around: `range(int(t % 4 == 0))` in
    `for t in range(1000)`. What a turn goes through (`for fold in folds`, `len(fold) // 32`) has rows in each."""
    ways = draft.drive.ways(count)
    around = {loop for way in ways for frame in way for loop in frame.loops if isinstance(loop, ast.For)}
    numbered = {
        loop
        for loop in around
        if draft.facts.feeding.kinds.is_range(loop.iter) and not any(n is count for n in walk(loop.iter))
    }
    made_of = draft.values.depends([count], _LIMIT) if numbered else ()
    return any(
        isinstance(n, ast.Name)
        and any(n.id in bound_names(loop.target) for loop in numbered)
        and any(b.statement in numbered for b in draft.module.scopes.reaching(n))
        for n in made_of
    )
