"""Rows that a program selects by the step that its graph counts: part of S5.

`step = sess.run(global_step)` is the same number on each rank, and of a rank's steps only. By `start = step * 32 % len(x)` all
ranks would train on the same rows, and those of the later steps would never be seen. Each rank takes the rows of its own one of
the steps that all ranks take together: `start = (step * hvd.size() + hvd.rank()) * 32 % len(x)`.
"""

from __future__ import annotations

import ast

from horovodize.facts.counter_kinds import CounterKind
from horovodize.facts.turn_uses import uses_of_moved
from horovodize.plan import Decision
from horovodize.rules import counted
from horovodize.rules.decisions import OfAll
from horovodize.rules.draft import RANK, SIZE, Draft
from horovodize.rules.shares import WHY, feeding
from horovodize.source import Edit
from horovodize.source.nodes import names_set, walk
from horovodize.summary.feeding import Driver

_WHAT = "Give every rank the rows of its own one of the steps of all ranks"
_KINDS = (CounterKind.GLOBAL_STEP, CounterKind.VARIABLE)
_FAR = 400  # nodes that rows may be made of


def divide(draft: Draft, driver: Driver, given: list[ast.expr]) -> bool:
    """Lets each rank select rows of its own for what a step is given; whether all that is selected by such a count can be."""
    if not draft.in_graph:
        return False
    body = [n for s in driver.loop.body for n in walk(s)]
    counts = {n.id for n in body if isinstance(n, ast.Name) and _is_count(draft, n)}
    found = list[ast.Name]()
    for name in sorted(counts):
        moves: list[ast.stmt] = [n for n in body if isinstance(n, ast.Assign) and name in _set_by(n)]
        uses = uses_of_moved(feeding(draft), body, name, moves)
        if uses.made or uses.told or uses.mixed:
            return False
        found += uses.selecting
    if not found or not all(_is_count(draft, use) and not draft.was(use, OfAll) for use in found):
        return False
    made_of = [set(draft.values.depends([e], _FAR)) for e in given]
    if not any(use in nodes for use in found for nodes in made_of):
        return False
    for use in found:
        draft.decide(use, OfAll("S5"))
        alone = isinstance(draft.syntax.parent[use], (ast.Call, ast.Assign))
        before, after = ("", "") if alone else ("(", ")")
        edits = Edit.around(draft.module.span(use), before, f" * {SIZE} + {RANK}{after}")
        draft.change("S5", use, _WHAT, WHY, edits, decision=Decision.SHARED)
    return True


def _set_by(statement: ast.Assign) -> set[str]:
    """The names that a statement sets."""
    return {name for target in statement.targets for name in names_set(target)}


def _is_count(draft: Draft, n: ast.Name) -> bool:
    """Whether a name is read that is the number of a rank's steps, as its graph counts them."""
    counter = counted.of(draft, n) if isinstance(n.ctx, ast.Load) else None
    return counter is not None and counter.kind in _KINDS


__all__ = ["divide"]
