"""How many turns loops have that go by numbers, as each rank sees these."""

from __future__ import annotations

import ast
from typing import TypeGuard

from horovodize.interleaving.by_rank import ByRank


def bounds(loop: ast.For | ast.AsyncFor | ast.While) -> ast.expr | None:
    """What says how often a loop turns, where that is a number that the script sets."""
    if isinstance(loop, ast.While):
        return loop.test if isinstance(loop.test, ast.Compare) else None
    return loop.iter if is_over_range(loop) else None


def is_over_range(loop: ast.For | ast.AsyncFor | ast.While) -> TypeGuard[ast.For]:
    """Whether a loop counts."""
    return (
        isinstance(loop, ast.For)
        and isinstance(loop.iter, ast.Call)
        and isinstance(loop.iter.func, ast.Name)
        and loop.iter.func.id in ("range", "xrange")
        and not loop.iter.keywords
    )


def rank_counts(by_rank: ByRank, loop: ast.For | ast.AsyncFor | ast.While) -> int | None:
    """How many turns a loop over a `range` has on a rank; None where that isn't to be seen."""
    if not is_over_range(loop) or not isinstance(loop.iter, ast.Call):
        return None
    numbers = [n for e in loop.iter.args if (n := by_rank.number(e)) is not None]
    if len(numbers) < len(loop.iter.args) or not numbers or (len(numbers) == 3 and not numbers[2]):
        return None
    return len(range(*numbers))
