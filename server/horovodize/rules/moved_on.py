"""Numbers that each step moves on by what it has measured, and that later losses are made with: part of G7.

`k = np.clip(k + 0.001 * (real - fake), 0, 1)`: what balances two networks, a multiplier that grows while a bound is broken.
Each rank takes size() times fewer steps, so one of them moves the number as far as size() steps of one process do."""

from __future__ import annotations

import ast

from horovodize.rules import running_means, steered
from horovodize.rules.decisions import Counted
from horovodize.rules.draft import Draft
from horovodize.rules.mixtures import is_sum, named, stands_for

_WHAT = "Move this as far for the rows that are seen"
_WHY = "A step stands for size() steps of one process, each of which moves it."
_BOUNDING = frozenset("clip clip_by_value min max minimum maximum float array constant relu".split())


def go_as_far(draft: Draft, kept: str, value: ast.expr, adds: bool | None, *, of_rows: bool = False) -> None:
    """adds: whether the value is added or taken away; None where it is the next number
    of_rows: whether that is known to be a rank's own, as what a graph makes of the rows that it is fed"""
    change = value if adds is not None else _added(draft, kept, value)
    if change is None or any(
        isinstance(n, ast.expr) and stands_for(draft, n, kept) for n in ast.walk(change)
    ):
        return  # nearer to something: a moving average
    if not (of_rows or steered.is_own(draft, change)) or _is_counted(draft, change):
        return
    if _is_divided(draft, kept):
        return  # the sum of a mean, of as many as a rank has
    if running_means.divides_means_of_rows(draft, kept):
        return  # as many as a rank has seen itself
    if draft.decide(change, Counted("G7")):
        draft.change("G7", change, _WHAT, _WHY, draft.times(change))


def _is_divided(draft: Draft, kept: str) -> bool:
    """`total / n`, `total /= len(losses)`"""
    for n in draft.syntax.every(ast.BinOp, ast.AugAssign):
        of, by = (n.left, n.right) if isinstance(n, ast.BinOp) else (n.target, n.value)
        is_quotient = isinstance(n.op, (ast.Div, ast.FloorDiv)) and not isinstance(by, ast.Constant)
        if is_quotient and stands_for(draft, of, kept):
            return True
    return False


def _is_counted(draft: Draft, change: ast.expr) -> bool:
    """Whether some of it counts the steps of all ranks already, also where names of it are given their values."""
    made_of = [change, *(o.node for o in draft.values.origins(change))]
    return any(draft.was(n, Counted) for e in made_of for n in ast.walk(e))


def _added(draft: Draft, kept: str, value: ast.expr) -> ast.expr | None:
    """What is added to a number, or taken from it, within bounds: `e` of `max(0.0, k + e)`."""
    value = named(draft, value)
    if is_sum(value):
        if stands_for(draft, value.left, kept):
            return value.right
        is_right = isinstance(value.op, ast.Add) and stands_for(draft, value.right, kept)
        return value.left if is_right else None
    if (
        isinstance(value, ast.Call)
        and draft.names.last(value.func) in ("add", "subtract")
        and len(value.args) == 2
    ):
        return value.args[1] if stands_for(draft, value.args[0], kept) else None
    if isinstance(value, ast.Call) and draft.names.last(value.func) in _BOUNDING:
        given = [*value.args, *([value.func.value] if isinstance(value.func, ast.Attribute) else [])]
        found = [e for part in given if (e := _added(draft, kept, part)) is not None]
        return found[0] if len(found) == 1 else None
    return None


__all__ = ["go_as_far"]
