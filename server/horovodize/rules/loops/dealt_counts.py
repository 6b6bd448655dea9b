"""Numbers of a loop that are no range, and are dealt out like batches: part of G4.

`for step in sorted(range(1000)):` gives rank 0 of four the steps 0, 4, 8, …: rows that are selected by them are a rank's own,
but `if step % 50 == 0: save()` holds half as often, and a rate that goes by them is another on each rank. That is asked."""

from __future__ import annotations

import ast

from horovodize.facts.counting import number_sequences
from horovodize.facts.counting.turn_uses import uses_of
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver

ASKED = (
    "these are numbers, and each rank is given every size()-th: what goes by them (a test, a rate) is no longer the same on "
    "all ranks; write the loop as `for … in range(…)`"
)


def goes_by_them(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """Whether a loop does something by such numbers, beside selecting rows."""
    loop = driver.loop
    if isinstance(loop, ast.While) or not isinstance(loop.target, ast.Name) or not isinstance(loop, ast.For):
        return False
    if feeding(draft).without_bars(loop.iter) is not e:
        return False
    if not number_sequences.is_one(draft.module, feeding(draft).kinds, e):
        return False
    uses = uses_of(feeding(draft), loop, loop.target.id)
    selecting = set(uses.selecting) if uses is not None else set[ast.Name]()
    reads = [
        n
        for s in loop.body
        for n in walk(s)
        if isinstance(n, ast.Name) and n.id == loop.target.id and n not in selecting
    ]
    return any(isinstance(draft.syntax.parent[n], (ast.Compare, ast.BinOp, ast.Call)) for n in reads)


__all__ = ["ASKED", "goes_by_them"]
