"""What decides a condition in a training loop: something that is the same on all ranks, or not. Part of G4."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from horovodize.rules.draft import Draft
from horovodize.rules.shares import feeding
from horovodize.summary.cursors import cursors_of
from horovodize.summary.feeding import Driver, Kind
from horovodize.summary.selecting import derived_from, uses_of
from horovodize.summary.syntax import Loop

# Builtins that give every rank the same if they are given the same.
_COUNTING = {
    "range",
    "len",
    "int",
    "float",
    "min",
    "max",
    "abs",
    "round",
    "sum",
    "bool",
    "isinstance",
    "enumerate",
    "zip",
}


class Cause(Enum):
    """What decides a condition."""

    COUNT = "the same on all ranks"
    VALUE = "a value of the rank's own, once a turn"
    GAME = "the course of a simulation"


def is_own_value(draft: Draft, e: ast.expr, loop: Loop) -> bool:
    """Whether a rank computes a value in a loop by itself: by a call there that does not only count."""
    return any(
        isinstance(n, ast.Call) and draft.syntax.inside(n, loop) and not _counts(draft, n)
        for n in draft.values.depends([e], 300)
    )


def cause_of(draft: Draft, test: ast.expr, loop: Loop, sites: set[ast.AST]) -> Cause:
    """What decides a test: anything that is called in the loop may give each rank a value of its own, unless it counts."""
    cause = Cause.COUNT
    for n in _decided_by(draft, test, loop):
        if isinstance(n, ast.Name) and _is_dealt_out(draft, n):
            cause = Cause.VALUE
        if not isinstance(n, ast.Call) or not _is_repeated(draft, n, loop):
            continue
        if _steps_a_game(draft, n) and not draft.drive.reaches(n, sites):
            return Cause.GAME
        if not _counts(draft, n):
            cause = Cause.VALUE
    return cause


def _is_repeated(draft: Draft, node: ast.AST, loop: Loop) -> bool:
    """Whether a node runs in each turn of a loop: not what it iterates, whose items count by their names."""
    inside = draft.syntax.inside(node, loop)
    return inside and (isinstance(loop, ast.While) or not draft.syntax.inside(node, loop.iter))


def _counts(draft: Draft, call: ast.Call) -> bool:
    """Whether a call gives every rank the same if it is given the same."""
    return isinstance(call.func, ast.Name) and call.func.id in _COUNTING and draft.values.callee(call) is None


def _decided_by(draft: Draft, test: ast.expr, loop: Loop) -> Iterator[ast.AST]:
    """What a test is made of, and what decided whether that was set: `if loss < 0.1: done = True`."""
    todo, seen = [test], set[ast.AST]()
    while todo:
        for n in draft.values.depends([todo.pop()], 300):
            if n in seen:
                continue
            seen.add(n)
            yield n
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                todo += [a for a in _put_into(draft, n) if draft.syntax.inside(a, loop) and a not in seen]
                for binding in draft.module.scopes.reaching(n):
                    conditions = draft.syntax.conditions(binding.statement)
                    todo += [
                        c.test for c, _ in conditions if draft.syntax.inside(c, loop) and c.test not in seen
                    ]


def _put_into(draft: Draft, name: ast.Name) -> list[ast.expr]:
    """What a list or another container is filled with under this name: `rewards.append(reward)`."""
    scope = draft.module.scopes.lookup(name.id, name)
    return [
        argument
        for call in draft.sites.method_calls("append", "appendleft", "extend", "insert", "add", "update")
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == name.id
        and draft.module.scopes.lookup(name.id, call) is scope
        for argument in call.args
    ]


def _steps_a_game(draft: Draft, call: ast.Call) -> bool:
    """`env.step(action)`"""
    f = call.func
    return isinstance(f, ast.Attribute) and f.attr == "step" and bool(call.args) and draft.names.of(f) is None


# ---------------------------------------------------------------------- what is dealt out


def _is_dealt_out(draft: Draft, name: ast.Name) -> bool:
    """Whether a name in a training loop stands for the batch of a rank, or for its number: the last one may be shorter, or
    be missing."""
    return any(
        draft.syntax.inside(name, driver.loop) and name.id in _dealt_names(draft, driver)
        for driver in feeding(draft).drivers
    )


def _dealt_names(draft: Draft, driver: Driver) -> set[str]:
    """The names in a driving loop that differ between the ranks: items of the data, and what is made of the number by which
    it is selected. The number itself goes on counting (see `ranges`)."""
    loop = driver.loop
    if isinstance(loop, ast.While) or (driver.kind is Kind.RANGE and not driver.indexed):
        uses_of_cursors = [use for c in cursors_of(feeding(draft), driver) for use in c.selecting]
        return derived_from(loop, uses_of_cursors)
    target, e = loop.target, loop.iter
    while e is not driver.iterable and isinstance(e, ast.Call) and e.args:
        if (
            draft.names.last(e.func) == "enumerate"
            and isinstance(target, ast.Tuple)
            and len(target.elts) == 2
        ):
            target = target.elts[1]
        e = e.args[0]
    if numbered(draft, driver) is not None:
        target = loop.target
    names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    if driver.kind is not Kind.RANGE:
        return names
    if not driver.indexed or not isinstance(target, ast.Name):
        return set()
    uses = uses_of(feeding(draft), loop, target.id)
    return derived_from(loop, uses.selecting) if uses is not None else names


def numbered(draft: Draft, driver: Driver) -> ast.Call | None:
    """The `enumerate(…)` around what a loop iterates, where its number selects data: then number and item are dealt out
    together."""
    loop = driver.loop
    if isinstance(loop, ast.While) or not isinstance(loop.target, ast.Tuple) or driver.kind is Kind.DATASET:
        return None
    e = loop.iter
    while (
        isinstance(e, ast.Call) and e.args and not (isinstance(e.func, ast.Name) and e.func.id == "enumerate")
    ):
        e = e.args[0]
    number = loop.target.elts[0]
    if not isinstance(e, ast.Call) or not isinstance(number, ast.Name) or driver.kind is Kind.RANGE:
        return None
    uses = uses_of(feeding(draft), loop, number.id)
    return e if uses is not None and uses.selecting else None
