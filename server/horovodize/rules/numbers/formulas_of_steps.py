"""Formulas that read how many steps were taken, `min(1.0, step / 1000)`, are told those of all ranks: part of G5 and G7."""

from __future__ import annotations

import ast
from collections.abc import Callable

from horovodize.plan import Decision
from horovodize.rules.drafting.decisions import Amount
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import (
    bias_corrections,
    counted,
    handed_numbers,
    number_tables,
    rate_reads,
    running_means,
)
from horovodize.rules.numbers.shares import counts_a_share

WHAT = "Tell the formula the steps of all ranks together"
WHY = "Each rank takes size() times fewer steps; what changes with them goes by how much has been seen."
_FORMULA = (ast.Div, ast.Pow)
_REAL = frozenset("interp exp expm1 log log1p sqrt sin cos tanh sigmoid pow power".split())


def tell(
    draft: Draft, given: ast.expr, rule: str = "G5", stays: Callable[[ast.expr], bool] | None = None
) -> None:
    """Tells the formulas in a value, which read how many steps were taken, the steps of all ranks.

    stays: whether a place reads them for something that is a rank's own"""
    for read in rate_reads.reads(draft, given):
        if stays is not None and stays(read):
            continue
        if bias_corrections.corrects(draft, read) or running_means.is_of_gradients(draft, read):
            continue
        if counted.is_over_a_share(draft, read):
            continue  # an epoch is computed there
        mean = running_means.around(draft, read)
        if mean is not None:
            running_means.ask(draft, mean, rule)
        elif counted.of(draft, read) is not None and (
            _is_in_formula(draft, read)
            or number_tables.is_looked_up(draft, read)
            or _is_computed_with(draft, read)
        ):
            tell_all(draft, read, rule)


def tell_all(draft: Draft, read: ast.expr, rule: str) -> None:
    """Tells one place that reads them."""
    edits = counted.read_as_all(draft, read, rule)
    draft.change(rule, read, WHAT, WHY, edits, decision=Decision.COUNTED)


def _is_in_formula(draft: Draft, read: ast.expr) -> bool:
    """Whether a number that isn't whole is made of a count: `step / 1000`, `0.99 ** step`, `math.exp(-rate * step)`. What
    selects rows is no formula, and what is divided by a rank's number of steps is right as it is."""
    around = _around(draft, read)
    is_formula = any(isinstance(a, ast.BinOp) and isinstance(a.op, _FORMULA) for a in around)
    return not is_of_a_share(draft, read) and (is_formula or any(_is_real(draft, a) for a in around))


def _is_computed_with(draft: Draft, read: ast.expr) -> bool:
    """Whether a function that is handed what is made of a count, `weight(step - warm_up)`, computes with that, and can't be
    seen to read a count of steps itself: it is told by the call."""
    if is_of_a_share(draft, read) or _chooses(draft, read):
        return False
    way = handed_numbers.reads_on_the_way(draft, read)
    if any(counted.of(draft, use) is not None or handed_numbers.is_adapted(draft, use) for use in way):
        return False
    uses = handed_numbers.uses(draft, read)
    return any(_is_in_formula(draft, use) or number_tables.is_looked_up(draft, use) for use in uses)


def _chooses(draft: Draft, read: ast.expr) -> bool:
    """Whether a count only decides which of some things is taken: `first if step % 2 else second`, `both[step % 2]`."""
    is_rest = False
    for a in draft.syntax.ancestors(read):
        is_rest |= isinstance(a, ast.BinOp) and isinstance(a.op, ast.Mod)
        if isinstance(a, ast.IfExp) and draft.syntax.inside(read, a.test):
            return True
        if isinstance(a, ast.Subscript) and draft.syntax.inside(read, a.slice):
            return is_rest
        if isinstance(a, ast.stmt):
            return False
    return False


def is_of_a_share(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is divided by a rank's number of steps: `i / len(batches)` of batches that are divided."""
    formulas = [a for a in _around(draft, read) if isinstance(a, ast.BinOp) and isinstance(a.op, _FORMULA)]
    return any(draft.was(a.right, Amount) or counts_a_share(draft, a.right) for a in formulas)


def _around(draft: Draft, read: ast.expr) -> list[ast.AST]:
    """What a count is a part of, as a number: not what it selects or decides, nor what a function that can be read makes of
    it, where that is looked at."""
    found = list[ast.AST]()
    for a in draft.syntax.ancestors(read):
        if isinstance(a, (ast.Subscript, ast.Compare, ast.stmt)):
            break
        if isinstance(a, ast.Call) and draft.values.graph.runs(a):
            break
        found.append(a)
    return found


def _is_real(draft: Draft, e: ast.AST) -> bool:
    """Whether an expression gives no whole number, as a multiple or a function of a whole one."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult):
        return any(
            isinstance(side, ast.Constant) and isinstance(side.value, float) for side in (e.left, e.right)
        )
    return isinstance(e, ast.Call) and draft.names.last(e.func) in _REAL


__all__ = ["WHAT", "WHY", "is_of_a_share", "tell", "tell_all"]
