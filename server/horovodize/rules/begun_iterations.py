"""What a program sets an optimizer's own count to, before it goes on training: part of G6.

    optimizer.iterations.assign(start_epoch * steps_per_epoch)

An optimizer counts a rank's steps, of which there are size() times fewer, and so do its schedules; so what one process has
taken before, or all ranks, is divided: `… .assign(start_epoch * steps_per_epoch // hvd.size())`.
"""

from __future__ import annotations

import ast

from horovodize.facts.counter_kinds import CounterKind
from horovodize.rules import counted
from horovodize.rules.decisions import Divided
from horovodize.rules.draft import SIZE, Draft
from horovodize.rules.shares import counts_a_share

_WHAT = "Begin with the steps that a rank has taken"
_WHY = "An optimizer counts a rank's steps, of which there are size() times fewer."


def divide(draft: Draft) -> None:
    """Divides what optimizers' counts are set to, where it counts the steps of one process, or of all ranks."""
    for call in draft.sites.method_calls("assign"):
        if not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
            continue
        counter, given = counted.of(draft, call.func.value), call.args[0]
        if counter is None or counter.kind is not CounterKind.ITERATIONS or draft.was(given, Divided):
            continue
        if _counts_all(draft, given) and draft.decide(given, Divided("G6")):
            draft.change("G6", given, _WHAT, _WHY, draft.times(given, SIZE, "//"))


def _counts_all(draft: Draft, given: ast.expr) -> bool:
    """Whether a number counts the steps of all ranks, or those that one process took before."""
    if counted.all_of(draft, given) is not None:
        return True
    made = [o.node for o in draft.values.origins(given)]
    products = [n for n in made if isinstance(n, ast.BinOp)]
    of_a_rank = any(counts_a_share(draft, side) for n in products for side in (n.left, n.right))
    return draft.facts.counters.later.is_one(given) and not of_a_rank
