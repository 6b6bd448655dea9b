"""Decisions by an optimizer's own rate, which is multiplied by the number of ranks: part of C5.

`if optimizer.learning_rate < 1e-6: break` compares what is size() times larger now; so is what it is compared with. Likewise
the rates beside it where a new one is made of it: the floor of `max(0.5 * optimizer.lr, 1e-6)`, `lr = 1e-4` in one case.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from horovodize.rules import decays
from horovodize.rules.decisions import Scaled
from horovodize.rules.draft import Draft
from horovodize.summary.syntax import arguments

_WHAT = "Multiply what the rate is compared with by the number of ranks"
_WHAT_BESIDE = "Multiply the rate that stands beside the optimizer's own by the number of ranks"
_BOUNDS = ("max", "min", "maximum", "minimum", "clip", "clip_by_value", "fmax", "fmin")
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SAME = ("float", "float32", "float64", "cast", "round")
_WHY = "This is the optimizer's own rate, which is multiplied by the number of ranks already."


def scale_comparisons(draft: Draft, is_rate: Callable[[Draft, ast.expr], bool]) -> None:
    """Multiplies the numbers that a rate is compared with.

    is_rate: whether an expression is a rate that is multiplied already"""
    for test in draft.syntax.every(ast.Compare) if draft.growth else ():
        if not all(isinstance(op, _ORDERS) for op in test.ops):
            continue
        sides = [test.left, *test.comparators]
        own = [side for side in sides if is_rate(draft, decays.read(draft, side))]
        for side in sides if own else ():
            is_zero = isinstance(side, ast.Constant) and side.value == 0
            made_of = draft.values.depends([side], 400)
            relative = any(isinstance(n, (ast.Name, ast.Attribute)) and is_rate(draft, n) for n in made_of)
            if not is_zero and not relative and draft.decide(side, Scaled("C5")):
                draft.change("C5", side, _WHAT, _WHY, draft.times(side, draft.growth))


def scale_beside(draft: Draft, rule: str, value: ast.expr, is_own: Callable[[ast.expr], bool]) -> None:
    """Multiplies the rates that a new one may be instead of what is made of the optimizer's own, and what it is compared with.

    is_own: whether an expression is made of the optimizer's rate, or what Keras passes of it"""
    names: set[str] = set()
    for e in list(_beside(draft, value, is_own, names)):
        _multiply(draft, rule, e, _WHAT_BESIDE)
    function = draft.syntax.function(value)
    for test in draft.syntax.every(ast.Compare) if names else ():
        if draft.syntax.function(test) is function and all(isinstance(op, _ORDERS) for op in test.ops):
            sides = [test.left, *test.comparators]
            own = [s for s in sides if isinstance(s, ast.Name) and s.id in names and is_own(s)]
            for side in sides if own else ():
                if not is_own(side):
                    _multiply(draft, rule, side, _WHAT)


def _is_variable(draft: Draft, e: ast.expr) -> bool:
    """Whether the optimizer's rate itself is made there: a variable begins with a rate that is multiplied already."""
    return isinstance(e, ast.Call) and draft.names.last(e.func) in decays.VARIABLES


def _multiply(draft: Draft, rule: str, e: ast.expr, what: str) -> None:
    is_number = isinstance(e, ast.Constant) and isinstance(e.value, (int, float)) and e.value
    if (is_number or not isinstance(e, ast.Constant)) and draft.decide(e, Scaled(rule)):
        draft.change(rule, e, what, _WHY, draft.times(e, draft.growth))


def _beside(
    draft: Draft, e: ast.expr, is_own: Callable[[ast.expr], bool], names: set[str]
) -> Iterator[ast.expr]:
    """The rates that an expression may stand for, or is bounded or moved by, that are not made of the optimizer's own; `names`
    gets those that stand for it on the way."""
    if not is_own(e):
        yield e
        return
    match e:
        case ast.Name() if e.id not in names:
            names.add(e.id)
            for b in draft.module.scopes.reaching(e):
                if (
                    b.kind == "assign"
                    and not b.path
                    and b.value is not None
                    and not _is_variable(draft, b.value)
                ):
                    yield from _beside(draft, b.value, is_own, names)
        case ast.IfExp():
            yield from _beside(draft, e.body, is_own, names)
            yield from _beside(draft, e.orelse, is_own, names)
        case ast.Call() if draft.names.last(e.func) in _BOUNDS:
            for arg in arguments(e):
                yield from _beside(draft, arg, is_own, names)
        case ast.Call() if draft.names.last(e.func) in _SAME and e.args:
            yield from _beside(draft, e.args[0], is_own, names)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield from _beside(draft, e.left, is_own, names)
            yield from _beside(draft, e.right, is_own, names)
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            for side in (e.left, e.right):
                if is_own(side):
                    yield from _beside(draft, side, is_own, names)
