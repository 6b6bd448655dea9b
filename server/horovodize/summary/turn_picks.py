"""What a test picks for the step of the same turn: `x = next(a) if i % 2 else next(b)`, `op = d_op if i % 5 else g_op`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from horovodize.source.nodes import walk

if TYPE_CHECKING:
    from horovodize.summary.feeding import Driver, Feeding

_LIMIT = 1500  # nodes that are looked at behind what a step is given


class Picked(Enum):
    """What is picked."""

    ROWS = "what the step is fed"
    STEP = "what is run as the step"


def picked_by(feeding: Feeding, test: ast.expr, alternating: bool = False) -> Picked | None:
    """What a test in a loop that trains picks for the step of each turn; None where what it decides happens beside steps, or
    is kept for later turns.

    alternating: only where there is something for either answer, each turn"""
    values = _arms(feeding, test, alternating)
    if any(_is_real(feeding, value) for value in values):
        return None  # a rate, or a weight
    drivers = [d for d in feeding.drivers if any(feeding.syntax.inside(v, d.loop) for v in values)]
    decision = feeding.syntax.statement(test)
    if any(feeding.drive.reaches(decision, {*d.steps}) for d in drivers if isinstance(decision, ast.If)):
        return None  # it decides on steps themselves
    if any(_reaches(feeding, values, _run(feeding, d)) for d in drivers):
        return Picked.STEP
    return Picked.ROWS if any(_reaches(feeding, values, _fed(feeding, d)) for d in drivers) else None


def _is_real(feeding: Feeding, e: ast.expr) -> bool:
    """Whether a value is a number that counts nothing: `0.05`."""
    return any(
        isinstance(o.node, ast.Constant) and isinstance(o.node.value, float) and not o.path
        for o in feeding.values.origins(e)
    )


def _arms(feeding: Feeding, test: ast.expr, alternating: bool) -> list[ast.expr]:
    """The values that a test decides between, new ones in each turn."""
    syntax = feeding.syntax
    for a in syntax.ancestors(test):
        if isinstance(a, ast.IfExp) and syntax.inside(test, a.test):
            return [a.body, a.orelse]
        if isinstance(a, ast.stmt):
            break
    decision = syntax.statement(test)
    if not isinstance(decision, ast.If) or not syntax.inside(test, decision.test):
        return []
    block = syntax.block(decision)
    before = _set_in(block[: block.index(decision)])
    arms = [_set_in(arm) for arm in (decision.body, decision.orelse)]
    either = arms[0].keys() & arms[1].keys()
    new = either if alternating else either | (arms[0].keys() & before.keys())
    return [
        value
        for name in new
        for arm in arms
        for value in arm.get(name, ())
        if name in before or not any(isinstance(n, ast.Name) and n.id == name for n in walk(value))
    ]


def _set_in(statements: Sequence[ast.stmt]) -> dict[str, list[ast.expr]]:
    """The names that statements surely set, with their values."""
    found: dict[str, list[ast.expr]] = {}
    for s in statements:
        if isinstance(s, ast.If) and s.orelse:
            one, two = _set_in(s.body), _set_in(s.orelse)
            for name in one.keys() & two.keys():
                found.setdefault(name, []).extend((*one[name], *two[name]))
        if isinstance(s, ast.Assign):
            for n in (n for target in s.targets for n in walk(target)):
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                    found.setdefault(n.id, []).append(s.value)
    return found


def _run(feeding: Feeding, driver: Driver) -> list[ast.expr]:
    """What a session is to fetch, and what is called, as the steps of a loop."""
    calls = _calls(feeding, driver)
    return [e for c in calls for e in ([c.func.value, *c.args[:1]] if _is_run(c) else [c.func])]  # type: ignore[attr-defined]


def _fed(feeding: Feeding, driver: Driver) -> list[ast.expr]:
    """What the steps of a loop are given."""
    return [
        e
        for c in _calls(feeding, driver)
        for e in (*c.args[1 if _is_run(c) else 0 :], *(k.value for k in c.keywords))
    ]


def _calls(feeding: Feeding, driver: Driver) -> list[ast.Call]:
    """The calls in a loop's body by which it comes to its steps."""
    ways = [way for step in driver.steps for way in feeding.drive.ways(step)]
    nodes = [f.node for way in ways for f in way if driver.loop in f.loops]
    return [n for n in nodes if isinstance(n, ast.Call)]


def _is_run(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "run" and bool(call.args)


def _reaches(feeding: Feeding, values: list[ast.expr], given: list[ast.expr]) -> bool:
    wanted = set[ast.AST](values)
    return any(n in wanted for n in feeding.values.depends(given, _LIMIT))


__all__ = ["Picked", "picked_by"]
