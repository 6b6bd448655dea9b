"""Where a loop goes on from a variable of the graph whose number it can't be given as that of all ranks: part of S5.

`for b in range(session.run(pointer), batches):` with `pointer.assign(0)` after each epoch, and one that begins at
`loader.pointer = pointer.eval()`, by which `next_batch` selects its rows: the loop counts the batches of all ranks, and the
variable goes on by one with each step of a rank. A run that goes on from it would see rows again. So it is asked, with what
to multiply."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import WHY
from horovodize.summary.feeding import Driver

_LIMIT = 300
_WHAT = "Go on at the batch that all ranks together have come to"
_IN_STEPS = (
    "the variable that this goes on from counts a rank's steps, and each of them takes size() batches: multiply the number by "
    "`hvd.size()` where it is read, and go on with as many ranks as saved it"
)


def ask(draft: Draft, driver: Driver, start: ast.expr, rule: str, of_a_rank: bool = False) -> None:
    """Asks about a loop that begins at a number which such a variable keeps, and counts the batches of all ranks.

    of_a_rank: whether the number is known to count a rank's steps"""
    made = draft.values.depends([start], _LIMIT) if draft.in_graph else ()
    if (of_a_rank or any(_goes_on_with(draft, n, driver) for n in made)) and draft.once("moved start", start):
        draft.ask(rule, start, _WHAT, WHY, _IN_STEPS)


def selects_rows(draft: Draft, start: ast.expr) -> bool:
    """Whether a number is an object's cursor: `self.batches[self.pointer]` beside `self.pointer += 1`."""
    if not isinstance(start, ast.Attribute):
        return False
    moved = [
        n
        for n in draft.syntax.every(ast.AugAssign)
        if isinstance(n.target, ast.Attribute) and n.target.attr == start.attr
    ]
    functions = [f for n in moved if (f := draft.syntax.function(n)) is not None]
    return any(
        isinstance(part, ast.Attribute) and part.attr == start.attr
        for f in functions
        for n in ast.walk(f)
        if isinstance(n, ast.Subscript)
        for part in ast.walk(n.slice)
    )


def _goes_on_with(draft: Draft, made: ast.AST, driver: Driver) -> bool:
    """Whether a call makes a variable that a run adds to with each turn of a loop."""
    if not isinstance(made, ast.Call):
        return False
    runs = draft.facts.counters.graph_counts.adding_runs(made)
    return any((found := draft.facts.occasions.counted_at(run)) and driver in found[0] for run in runs)


__all__ = ["ask", "selects_rows"]
