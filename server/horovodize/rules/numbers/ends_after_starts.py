"""Ends of loops that are written as so many steps after where a run begins: `last = int(optimizer.iterations) + 1000`,
`while step < start + 1000`, where `start` is what a rank has counted.

The start counts a rank's steps, so only what is added to it is divided: half of both would end a run that goes on from 1000
steps after none at all."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import CounterKind
from horovodize.rules.drafting.draft import Draft

_COUNTED_BY_RANK = (CounterKind.GLOBAL_STEP, CounterKind.ITERATIONS, CounterKind.NUMBER)


def added_steps(draft: Draft, end: ast.expr) -> ast.expr | None:
    """The `1000` of such an end, there or where its name is given to it (a formula that reads the name is told, by its start,
    that it is of a rank's steps); None for any other."""
    made = [o for o in draft.values.origins(end) if not o.path]
    whole = made[0].node if len(made) == 1 else None
    if not isinstance(whole, ast.BinOp) or not isinstance(whole.op, ast.Add):
        return None
    found = [n for start, n in _sides(whole) if _counts_ranks_steps(draft, start)]
    return found[0] if len(found) == 1 else None


def _sides(whole: ast.BinOp) -> tuple[tuple[ast.expr, ast.expr], ...]:
    return (whole.left, whole.right), (whole.right, whole.left)


def _counts_ranks_steps(draft: Draft, start: ast.expr) -> bool:
    counter = draft.facts.counters.of(start)
    return (
        counter is not None and counter.kind in _COUNTED_BY_RANK and not counter.stored and not counter.rows
    )


__all__ = ["added_steps"]
