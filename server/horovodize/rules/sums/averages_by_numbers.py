"""Averages over a dataset that was divided by a number that is written out: part of G4, G5 and S5.

    for x, y in data:
        total += train_step(x, y)
    print(total / 50)

How many rows a dataset has may not be seen, but a number that is written out is one of rows or steps, unless it is small; a
rank adds up 1/size() of what one process did. (`averages` knows the lengths of what is divided.)"""

from __future__ import annotations

import ast
import math

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.augmented import added
from horovodize.rules.drafting.decisions import Divided, OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import counts_a_share, divisors_in, feeding
from horovodize.rules.sums.averages import divide_by, is_of_shared, is_summed, sums_of
from horovodize.summary.feeding import Driver

_OF_STEPS = 10  # the least number that is taken for one of steps or rows
_ROUNDED = ("int", "round", "ceil", "floor", "float")


def keep(draft: Draft, driver: Driver, rule: str) -> None:
    """Divides what a sum over a divided dataset is divided by after it, once."""
    if not is_of_shared(draft, driver):
        return
    sums = _measured(draft, driver)
    for divisor, what in divisors_in(draft, driver.loop) if sums else ():
        outside = not draft.syntax.inside(divisor, driver.loop)
        if outside and _is_last(draft, divisor, what) and is_summed(draft, driver, what, sums):
            number = _number(draft, divisor)
            own = counts_a_share(draft, divisor) or any(draft.was(n, OfAll) for n in ast.walk(what))
            if number is not None and number >= _OF_STEPS and not own:
                divide_by(draft, divisor, rule)


def _measured(draft: Draft, driver: Driver) -> set[str]:
    """The sums over a loop of what a rank's rows give."""
    terms = [(a.target, a.value) for s in driver.loop.body for n in ast.walk(s) if (a := added(n))]
    divided = {ast.unparse(t) for t, value in terms if any(draft.was(n, Divided) for n in ast.walk(value))}
    found = {ast.unparse(t) for t, value in terms if _is_of_rows(draft, value)}
    return (found - divided) & sums_of(driver)


def _is_of_rows(draft: Draft, e: ast.expr) -> bool:
    return any(isinstance(r, Varies) and r.kind is Source.ROWS for r in draft.uniform.reasons(e))


def _is_last(draft: Draft, divisor: ast.expr, what: ast.AST) -> bool:
    """Whether a sum is divided last by something, and by no share before: of `total / 32 / 50` one division makes up for it."""
    division = draft.syntax.parent[divisor]
    around = (a for a in draft.syntax.ancestors(division) if isinstance(a, ast.expr))
    if any(isinstance(a, ast.BinOp) and isinstance(a.op, ast.Div) for a in around):
        return False
    before = [n.right for n in ast.walk(what) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    return not any(draft.was(n, Divided) for e in before for n in ast.walk(e)) and not any(
        counts_a_share(draft, e) for e in before
    )


def _number(draft: Draft, e: ast.expr, depth: int = 5) -> float | None:
    """What a number is, as far as that is written: `1600 // BATCH`."""
    match e:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv() | ast.Mult() as op, right=right) if depth:
            one, other = (_number(draft, part, depth - 1) for part in (left, right))
            if not one or not other:
                return None
            return one * other if isinstance(op, ast.Mult) else one / other
        case ast.Call(args=[inner]) if depth and draft.names.last(e.func) in _ROUNDED:
            return _number(draft, inner, depth - 1)
        case ast.Name():
            bound = draft.module.scopes.reaching(e)
            value = bound[0].value if len(bound) == 1 and not bound[0].path else None
            found = _number(draft, value, depth - 1) if value is not None and depth else None
            return found if found is None or math.isfinite(found) else None
        case _:
            return feeding(draft).kinds.constant(e)


__all__ = ["keep"]
