"""Numbers that go on within one step only: in a loop of their own, before which they begin again with each step.

`while t >= length: t -= length; length *= 2` of a schedule of warm restarts goes through the periods up to a step, from the
first one on each time it is asked; what it changes by stays, however many steps a rank takes."""

from __future__ import annotations

import ast

from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, Loop
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.source.nodes import walk


def begins_again(draft: Draft, binding: Binding) -> bool:
    """Whether what a binding changes begins again with each step, before the loop in which it goes on."""
    loops = draft.syntax.loops(binding.statement)
    driving = [driver.loop for driver in feeding(draft).drivers]
    if not loops or not isinstance(binding.anchor, ast.Name):
        return False
    if any(d is loops[0] or draft.syntax.inside(d, loops[0]) for d in driving):
        return False
    home = draft.module.scopes.lookup(binding.name, binding.anchor)
    bound = draft.module.scopes.names[home].get(binding.name, ()) if home is not None else ()
    begun = [b for b in bound if not draft.syntax.inside(b.statement, loops[0])]
    around = [loop for loop in loops if loop in driving]
    if not begun or any(b.kind != "assign" for b in begun):
        return False
    if around:
        return any(_is_before(b, loops[0], around[0]) for b in begun)
    if not isinstance(home, FUNCTIONS) or draft.syntax.function(binding.statement) is not home:
        return False
    return not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in walk(home))


def _is_before(begun: Binding, own: Loop, driving: Loop) -> bool:
    """Whether each turn of a loop sets a number itself, before a loop within it."""
    body = driving.body
    within = [s for s in body if any(n is own for n in walk(s))]
    return begun.statement in body and bool(within) and body.index(begun.statement) < body.index(within[0])


__all__ = ["begins_again"]
