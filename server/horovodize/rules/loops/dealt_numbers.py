"""Numbers that come with the batches that ranks take in turns: part of G5.

`for step, batch in batches(1000):` gives each rank the number of its own batch: of two ranks one has the even ones, the other
the odd ones. `if step % 50 == 49: save()` would then never hold on rank 0, and hold on one rank alone where all have to do the
same. It is asked whether one of the ranks' batches has that number."""

from __future__ import annotations

import ast

from horovodize.facts.counting import counted_yields
from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.source import Edit
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver

_WHAT = "Let it hold where one of the ranks' batches has the number"
_WHY = "Each rank is told the number of its own batch, which another one may be."
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def tell(draft: Draft, driver: Driver, iterated: ast.expr) -> None:
    """Adapts the tests of such numbers in a loop whose batches are dealt out."""
    names = _numbers(draft, driver, iterated)
    tests = [n for s in driver.loop.body for n in walk(s) if isinstance(n, ast.Compare)] if names else []
    for test in tests:
        if len(test.ops) == 1 and not draft.drive.in_traced(test):
            _compared(draft, test, names)


def _numbers(draft: Draft, driver: Driver, iterated: ast.expr) -> set[str]:
    """The names that a loop gives such a number: by one more for each batch that its generator yields."""
    loop = driver.loop
    function = draft.values.callee(iterated) if isinstance(iterated, ast.Call) else None
    if isinstance(loop, ast.While) or not isinstance(function, FUNCTIONS) or loop.iter is not iterated:
        return set()
    at = counted_yields.places(draft.syntax, function)
    target = loop.target
    parts = target.elts if isinstance(target, ast.Tuple) else []
    found = {parts[i].id for i in at if i < len(parts) and isinstance(parts[i], ast.Name)}  # type: ignore[attr-defined]
    stored = [
        n.id
        for s in loop.body
        for n in walk(s)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    ]
    return found - set(stored)


def _compared(draft: Draft, test: ast.Compare, names: set[str]) -> None:
    left, right, operator = test.left, test.comparators[0], test.ops[0]
    number = left.left if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) else left
    name = (
        number.left if isinstance(number, ast.BinOp) and isinstance(number.op, (ast.Add, ast.Sub)) else number
    )
    if not isinstance(name, ast.Name) or name.id not in names or names & _read(right):
        return
    if not draft.decide(test, Agreed("G5")):
        return
    text, count, span = draft.module.text, draft.module.text(number), draft.module.span(test)
    if isinstance(operator, _ORDER) and number is left:
        edits = [Edit.insert(draft.module.span(name).end, f" - {RANK}", draft.module.span(name))]
    elif not isinstance(operator, (ast.Eq, ast.NotEq)):
        return
    else:
        is_equal = isinstance(operator, ast.Eq)
        less = f"({count})" if isinstance(number, ast.BinOp) else count
        is_zero = isinstance(right, ast.Constant) and right.value == 0
        ahead = f"{RANK} - {less}" if is_zero else f"{_apart(right, text(right))} - {less} + {RANK}"
        if number is left:
            new = f"0 <= {ahead} < {SIZE}" if is_equal else f"not 0 <= {ahead} < {SIZE}"
        else:
            assert isinstance(left, ast.BinOp)
            by = (
                text(left.right)
                if isinstance(left.right, (ast.Name, ast.Attribute, ast.Constant))
                else f"({text(left.right)})"
            )
            new = f"({ahead}) % {by} {'<' if is_equal else '>='} {SIZE}"
        parent = draft.syntax.parent[test]
        new = (
            f"({new})"
            if isinstance(parent, (ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare)) and not is_equal
            else new
        )
        edits = [Edit(span, new)]
    draft.change("G5", test, _WHAT, _WHY, edits)


def _apart(e: ast.expr, text: str) -> str:
    return (
        text
        if isinstance(e, (ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript))
        else f"({text})"
    )


def _read(e: ast.expr) -> set[str]:
    return {n.id for n in walk(e) if isinstance(n, ast.Name)}


__all__ = ["tell"]
