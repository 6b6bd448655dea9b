"""Moving averages of gradients that a program keeps for an optimizer of its own, and what makes up for how they begin. Part of
G5 and C5.

    m = beta * m + (1 - beta) * gradient
    w.assign_sub(rate * m / (1 - beta ** step))

Each rank keeps them of the averaged gradients, one a step of its own, as an optimizer of a library does; `beta` stays, and so
does the count of its powers, though rates that go by such a count are told the steps of all ranks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import Draft

_POWERS = ("pow", "power")
_FAR = 300  # nodes that a gradient is looked for behind


def corrects(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is read in `1 - beta ** step`, where an average of gradients goes on by `beta`."""
    for a in draft.syntax.ancestors(read):
        if isinstance(a, ast.stmt):
            return False
        base = _base(draft, a, read)
        if base is None:
            continue
        around = draft.syntax.parent[a]
        from_one = isinstance(around, ast.BinOp) and isinstance(around.op, ast.Sub) and around.right is a
        return from_one and any(_is_of_gradients(draft, value) for value in _averages(draft, base))
    return False


def _base(draft: Draft, e: ast.AST, read: ast.expr) -> ast.expr | None:
    """`beta` of `beta ** step`, of `tf.pow(beta, step)`; None for anything else."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Pow) and draft.syntax.inside(read, e.right):
        return e.left
    if isinstance(e, ast.Call) and draft.names.last(e.func) in _POWERS and len(e.args) == 2:
        return e.args[0] if draft.syntax.inside(read, e.args[1]) else None
    return None


def _averages(draft: Draft, base: ast.expr) -> Iterator[ast.expr]:
    """What is set to itself times a factor, and something else: `m = beta * m + …`, `m.assign(beta * m + …)`."""
    kept = [(t, s.value) for s in draft.syntax.every(ast.Assign) for t in s.targets]
    for call in draft.sites.method_calls("assign"):
        value = argument(call, "value", 0)
        if isinstance(call.func, ast.Attribute) and value is not None:
            kept.append((call.func.value, value))
    for target, value in kept:
        sides = {ast.unparse(target), ast.unparse(base)}
        for n in ast.walk(value):
            if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult):
                if {ast.unparse(n.left), ast.unparse(n.right)} == sides:
                    yield value


def _is_of_gradients(draft: Draft, value: ast.expr) -> bool:
    gradients = set(draft.sites.training_gradients)
    return any(n in gradients for n in draft.values.depends([value], _FAR))


__all__ = ["corrects"]
