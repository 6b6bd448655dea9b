"""Tuples that are carried on as a whole, with a number of their own that goes on: `state = (state[0] + 1, loss)`,
`step, best = state` and `state = (step + 1, best)`. Their places are fields, called `[0]`, `[1]`."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from horovodize.facts.counting.records import Replaced
from horovodize.python.module import Module


def carried_on(module: Module, e: ast.AST) -> Replaced | None:
    """What a tuple makes of another one, of which one place is counted on; None of anything else."""
    if not isinstance(e, (ast.Tuple, ast.List)) or not isinstance(e.ctx, ast.Load):
        return None
    for i, part in enumerate(e.elts):
        if isinstance(part, ast.Starred):
            return None  # what comes after it has no place that is known
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            whole = whole_of(module, part.left, i)
            if whole is not None:
                known = itertools.takewhile(lambda part: not isinstance(part, ast.Starred), e.elts)
                return Replaced(e, whole, {place(n): value for n, value in enumerate(known)})
    return None


def whole_of(module: Module, e: ast.expr, index: int) -> ast.expr | None:
    """The tuple that an expression is a place of: `state` of `state[0]`, or of `step` after `step, best = state`."""
    match e:
        case ast.Subscript(value=whole, slice=ast.Constant(value=int(at))) if at == index:
            return whole
        case ast.Name():
            found = [
                b.value if b.kind == "assign" and b.path == (index,) else None
                for b in module.scopes.reaching(e)
            ]
            [unpacked] = found if len(found) == 1 else [None]
            return unpacked if isinstance(unpacked, (ast.Name, ast.Attribute)) else None
    return None


def going_on(module: Module, e: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """Where a place of a tuple, as a name or by its number, is made of its last value: (the tuple, that last value, what it is
    set to). Of `step, rate = state` and `state = (step + 1, rate * 0.99)`: `rate` and `rate * 0.99`, of `rate`."""
    if not isinstance(e, (ast.Name, ast.Subscript)):
        return
    found = place_of(module, e)
    for o in module.values.origins(found[0]) if found is not None else ():
        if found is None or o.path or not isinstance(o.node, (ast.Tuple, ast.List)):
            continue
        for value in o.node.elts[found[1] : found[1] + 1]:
            last = (n for n in ast.walk(value) if isinstance(n, (ast.Name, ast.Subscript)))
            kept = next((n for n in last if whole_of(module, n, found[1]) is not None), None)
            if kept is not None:
                yield o.node, kept, value


def place_of(module: Module, e: ast.expr) -> tuple[ast.expr, int] | None:
    """The tuple that an expression is a place of, and which; None of anything else."""
    match e:
        case ast.Subscript(value=whole, slice=ast.Constant(value=int(at))):
            return whole, at
        case ast.Name():
            paths = {b.path for b in module.scopes.reaching(e) if b.kind == "assign"}
            path = paths.pop() if len(paths) == 1 else ()
            index = path[0] if len(path) == 1 else None
            unpacked = whole_of(module, e, index) if isinstance(index, int) else None
            return (unpacked, index) if unpacked is not None and isinstance(index, int) else None
    return None


def place(index: int) -> str:
    """What a place of a tuple is called, as a field."""
    return f"[{index}]"


__all__ = ["carried_on", "going_on", "place", "place_of", "whole_of"]
