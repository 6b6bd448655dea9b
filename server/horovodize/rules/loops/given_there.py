"""What an optimizer is made with where a function of the program gives it, and is given something else elsewhere: part of G4.

`SGD(self.rate(0))` before `optimizer.learning_rate = self.rate(self.step)` of a run that goes on: what files say of the step
does not come into the first. The facts follow a parameter to all calls at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import FUNCTIONS, arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import differing

_FAR = 200  # nodes that something is made of


def settle(draft: Draft, optimizer: ast.expr) -> None:
    """Settles what only other calls are given, of files that tell what an optimizer is made with."""
    read = [r for r in differing(draft, optimizer) if isinstance(r, Varies) and r.kind is Source.FILES]
    for made in draft.values.calls(optimizer) if read else ():
        for given in arguments(made):
            others = frozenset(_given_elsewhere(draft, given))
            if others and not draft.uniform.where(draft.uniform.agreed | others).reasons(given):
                draft.settled |= {(e, r.where) for e in (optimizer, made, given) for r in read}


def _given_elsewhere(draft: Draft, given: ast.expr) -> Iterator[ast.expr]:
    """What other calls give to the functions that a value comes from."""
    for n in draft.values.depends([given], _FAR):
        callee = draft.values.callee(n) if isinstance(n, ast.Call) and draft.syntax.inside(n, given) else None
        for other in draft.values.callers(callee) if isinstance(callee, FUNCTIONS) else ():
            if other is not n:
                yield from arguments(other)


__all__ = ["settle"]
