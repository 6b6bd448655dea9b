"""Batches that a loop keeps until there are a few, `pool.append(batch)`, `if len(pool) == 4: for batch in pool: …`: the loop
that gathers them brings the steps their data, not the one that goes through the few."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.python.syntax import Loop

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


def applies_what_is_gathered(feeding: Feeding, epoch: Loop, loops: list[Loop], update: ast.Call) -> bool:
    """Whether a step beside loops over data, in each turn of a loop around them, is made of what their turns have gathered:
    gradients, or rows, of the last batches of an epoch, of which there are fewer than a step is made of. The function that
    applies them computes no gradients itself, `apply()`, or is given what the loops bind, or add to a list."""
    function = feeding.syntax.function(update)
    takes = [c for c in feeding.module.calls_called("gradient") if feeding.syntax.function(c) is function]
    if function is not None and not takes and feeding.syntax.function(epoch) is not function:
        return True
    frames = [
        f for way in feeding.drive.ways(update) for f in way if epoch in f.loops and not {*loops} & {*f.loops}
    ]
    given = [
        n for f in frames for n in ast.walk(f.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    ]
    return any(_is_bound_in(feeding, n, loop) for n in given for loop in loops)


def _is_bound_in(feeding: Feeding, name: ast.Name, loop: Loop) -> bool:
    """Whether turns of a loop bind a name, or add to the list that it stands for."""
    bound = [b.statement for b in feeding.module.scopes.reaching(name)]
    adding = (
        c
        for c in feeding.module.calls_called(*_ADDING)
        if isinstance(c.func, ast.Attribute) and ast.unparse(c.func.value) == name.id
    )
    return any(b is not loop and feeding.syntax.inside(b, loop) for b in bound) or any(
        feeding.syntax.inside(c, loop) for c in adding
    )


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
