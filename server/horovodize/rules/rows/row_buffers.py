"""Buffers in which a generator gathers rows, to give them on in another order: part of D3.

`buffer.append(row)`, then `yield buffer.pop(random.randrange(len(buffer)))`: where the rows are dealt out to the ranks, all
of them draw that order alike, as they do what is shuffled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import walk


def takes_from_one(draft: Draft, drawn: ast.Call) -> bool:
    """Whether the row at a place that is drawn leaves a generator's buffer, or another takes its place: `buffer[i] = row`."""
    yields = draft.syntax.every(ast.Yield, ast.YieldFrom)
    function = draft.syntax.function(drawn) if yields else None
    if not isinstance(function, FUNCTIONS) or not any(draft.syntax.inside(y, function) for y in yields):
        return False
    inside = [n for s in function.body for n in walk(s)]
    calls = [n for n in inside if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    if not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in inside):
        return False
    statement = draft.syntax.statement(drawn)
    named = statement.targets if isinstance(statement, ast.Assign) else []
    names = {t.id for t in named if isinstance(t, ast.Name)}
    gathered = {_whole(c) for c in calls if _method(c) == "append"} | set(_lists_made(inside))
    taken = [(_whole(c), e) for c in calls if _method(c) == "pop" for e in c.args]
    taken += [
        (ast.unparse(n.value), n.slice)
        for n in inside
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, (ast.Store, ast.Del))
    ]
    return any(
        whole in gathered and any(n is drawn or (isinstance(n, ast.Name) and n.id in names) for n in walk(e))
        for whole, e in taken
    )


def _lists_made(inside: list[ast.AST]) -> Iterator[str]:
    """The names of lists that a function makes for itself: `left = list(range(n))`."""
    for s in inside:
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="list"))):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp()):
                yield name


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _whole(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


__all__ = ["takes_from_one"]
