"""The data sets that Python goes through to give batches, before ranks take their own of these: part of D3.

A generator function's loops (`for batch in dataset: yield batch`), a generator expression, `itertools.cycle(dataset)`, a loop
over large batches of which each makes a data set. Their orders have to be alike on all ranks, as those of a pipeline that is
divided at one place."""

from __future__ import annotations

import ast

from horovodize.python.syntax import COMPREHENSIONS, FUNCTIONS
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.source.nodes import walk

_PASSING = ("enumerate", "zip", "map", "filter", "list", "tuple", "iter", "next", "reversed")
_LIMIT = 60


def behind(draft: Draft, place: ast.expr) -> list[ast.expr]:
    """The data sets behind batches that are dealt out at a place; the place itself, where it is one."""
    pipelines, found = feeding(draft).pipelines, list[ast.expr]()
    todo, seen = [place], set[ast.AST]()
    while todo and len(seen) < _LIMIT:
        e = todo.pop()
        if e in seen:
            continue
        seen.add(e)
        if e is place or pipelines.is_dataset(e):
            found.append(e)
        if pipelines.is_dataset(e):
            todo += _in_turns(draft, e)
            continue
        todo += _given(draft, e)
    return found


def _in_turns(draft: Draft, dataset: ast.expr) -> list[ast.expr]:
    """What a loop goes through whose turns make a data set of what they are given: `for big in files: ds =
    from_tensor_slices(big)`."""
    made = [n for n in feeding(draft).pipelines.trail(dataset) if isinstance(n, ast.Call)]
    rows = [
        e for c in made if draft.names.last(c.func) == "from_tensor_slices" for a in c.args for e in walk(a)
    ]
    bound = [b for e in rows if isinstance(e, ast.Name) for b in draft.module.scopes.reaching(e)]
    return [b.value for b in bound if b.kind == "item" and b.value is not None]


def _given(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """What an iterable takes its elements from."""
    match e:
        case ast.Name() | ast.Attribute():
            return [o.node for o in draft.values.origins(e) if isinstance(o.node, ast.expr) and not o.path]
        case ast.GeneratorExp() | ast.ListComp():
            return [g.iter for g in e.generators]
        case ast.Starred():
            return [e.value]
        case ast.Call():
            function = draft.values.callee(e)
            if isinstance(function, FUNCTIONS):
                return _in_generator(draft, function)
            name = draft.names.of(e.func) or ""
            passes = name.startswith("itertools.") or (isinstance(e.func, ast.Name) and e.func.id in _PASSING)
            return list(e.args) if passes else []
    return []


def _in_generator(draft: Draft, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """What a generator function goes through."""
    own = [n for n in walk(function) if draft.syntax.function(n) is function]
    if not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in own):
        return []
    found: list[ast.expr] = []
    for n in own:
        if isinstance(n, (ast.For, ast.AsyncFor)):
            found.append(n.iter)
        elif isinstance(n, ast.YieldFrom):
            found.append(n.value)
        elif isinstance(n, COMPREHENSIONS):
            found += [g.iter for g in n.generators]
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("next", "iter"):
            found += n.args[:1]
    return found


__all__ = ["behind"]
