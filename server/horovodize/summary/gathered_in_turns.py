"""Batches that a loop keeps until there are a few, `pool.append(batch)`, `if len(pool) == 4: for batch in pool: …`: the loop
that gathers them brings the steps their data, not the one that goes through the few."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.summary.syntax import Loop

if TYPE_CHECKING:
    from horovodize.summary.feeding import Feeding

_ADDING = ("append", "appendleft", "extend", "insert")
_FAR = 100  # nodes that what is added is made of


def is_gathered_around(feeding: Feeding, loop: Loop, outer: list[Loop]) -> bool:
    """Whether what a loop goes through is a list that begins empty, and gets what a loop around it brings in each turn.
    outer: the loops around it, innermost first"""
    batches = feeding.iterable(loop)
    if not isinstance(batches, (ast.Name, ast.Attribute)):
        return False
    adding = additions(feeding, batches)
    return bool(adding) and any(all(_is_brought(feeding, o, call) for call in adding) for o in outer)


def applies_what_is_gathered(
    feeding: Feeding, steps: dict[Loop, list[ast.Call]], loops: list[Loop], update: ast.Call
) -> bool:
    """Whether an update beside loops over data applies what their turns have gathered: the gradients of the last batches of an
    epoch, of which there are fewer than an update is made of. It is one that they take as well, by a function that computes no
    gradients itself, `apply()`, or it is given what they bind.
    steps: those of each loop"""
    function = feeding.syntax.function(update)
    if function is not None and any(update in steps[loop] for loop in loops):
        return not any(feeding.syntax.inside(c, function) for c in feeding.module.calls_called("gradient"))
    names = (n for e in update.args for n in ast.walk(e) if isinstance(n, ast.Name))
    bound = [b.statement for n in names for b in feeding.module.scopes.reaching(n)]
    return any(b is not loop and feeding.syntax.inside(b, loop) for b in bound for loop in loops)


def additions(feeding: Feeding, gathered: ast.expr) -> list[ast.Call]:
    """The calls that add to a list which begins empty; none where something is no such list."""
    made = {o.node for o in feeding.values.origins(gathered)}
    if not all(map(_is_empty, made)):
        return []
    return [
        call
        for call in feeding.module.calls_called(*_ADDING)
        if isinstance(call.func, ast.Attribute)
        and made & {o.node for o in feeding.values.origins(call.func.value)}
    ]


def _is_brought(feeding: Feeding, loop: Loop, adding: ast.Call) -> bool:
    """Whether each turn of a loop over data adds what it brings."""
    if not isinstance(loop, ast.For) or feeding.syntax.statement(adding) not in loop.body:
        return False
    names = (n for n in feeding.values.depends([*adding.args], _FAR) if isinstance(n, ast.Name))
    brought = any(
        b.statement is loop for n in names for b in feeding.module.scopes.reaching(n) if b.kind == "item"
    )
    return brought and feeding.is_over_data(loop)


def _is_empty(made: ast.AST) -> bool:
    """`[]`, `list()`, `deque(maxlen=50)`"""
    if isinstance(made, ast.Call):
        func = made.func
        called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        return called in ("list", "deque") and not made.args
    return isinstance(made, ast.List) and not made.elts


__all__ = ["additions", "applies_what_is_gathered", "is_gathered_around"]
