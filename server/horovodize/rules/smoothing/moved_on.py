"""Numbers that each step moves on by what it has measured, and that later losses are made with: part of G7.

`k = np.clip(k + 0.001 * (real - fake), 0, 1)`: what balances two networks, a multiplier that grows while a bound is broken.
Each rank takes size() times fewer steps, so one of them moves the number as far as size() steps of one process do; likewise
`k *= np.exp(0.05 * excess * hvd.size())`."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.decisions import Counted
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import running_means
from horovodize.rules.smoothing.mixtures import is_sum, named, stands_for
from horovodize.rules.weights import steered

_WHAT = "Move this as far for the rows that are seen"
_WHY = "A step stands for size() steps of one process, each of which moves it."
_BOUNDING = frozenset("clip clip_by_value min max minimum maximum float array constant relu".split())


def go_as_far(draft: Draft, kept: str, value: ast.expr, adds: bool | None, *, of_rows: bool = False) -> None:
    """adds: whether the value is added or taken away; None where it is the next number
    of_rows: whether that is known to be a rank's own, as what a graph makes of the rows that it is fed"""
    change = value if adds is not None else _added(draft, kept, value)
    factor = _factor(draft, kept, value) if change is None else None
    if factor is not None:
        return grow_as_far(draft, kept, factor, of_rows=of_rows)
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


def grow_as_far(draft: Draft, kept: str, factor: ast.expr, *, of_rows: bool = False) -> None:
    """The same of a number that is multiplied: `k * np.exp(0.05 * excess)`. (Other factors are no pace that is seen.)"""
    factor = named(draft, factor)
    if not isinstance(factor, ast.Call) or draft.names.last(factor.func) != "exp" or len(factor.args) != 1:
        return
    (exponent,) = factor.args
    if any(isinstance(n, ast.expr) and stands_for(draft, n, kept) for n in ast.walk(exponent)):
        return
    if not (of_rows or steered.is_own(draft, exponent)) or _is_counted(draft, exponent):
        return
    if draft.decide(exponent, Counted("G7")):
        draft.change("G7", exponent, _WHAT, _WHY, draft.times(exponent))


def _factor(draft: Draft, kept: str, value: ast.expr) -> ast.expr | None:
    """What a number is multiplied by, or divided, within bounds."""
    value = named(draft, value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        if stands_for(draft, value.left, kept):
            return value.right
        is_right = isinstance(value.op, ast.Mult) and stands_for(draft, value.right, kept)
        return value.left if is_right else None
    within = [f for part in _bounded(draft, value) if (f := _factor(draft, kept, part)) is not None]
    return within[0] if len(within) == 1 else None


def _bounded(draft: Draft, value: ast.expr) -> list[ast.expr]:
    """What a bound is put to: `x`, `0.1` and `10` of `np.clip(x, 0.1, 10)`."""
    if not isinstance(value, ast.Call) or draft.names.last(value.func) not in _BOUNDING:
        return []
    return [*value.args, *([value.func.value] if isinstance(value.func, ast.Attribute) else [])]


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
    found = [e for part in _bounded(draft, value) if (e := _added(draft, kept, part)) is not None]
    return found[0] if len(found) == 1 else None


__all__ = ["go_as_far", "grow_as_far"]
