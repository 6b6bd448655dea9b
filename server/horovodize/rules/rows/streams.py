"""Orders of rows that a seed fixes, drawn from a stream that each rank draws from for its own rows, too: part of D3.

One seed gives all ranks one order only as long as each has drawn as many numbers before. A rank that draws again until
something fits its rows, or for the rows of a shorter batch, has drawn others, and goes on in an order of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.differences.answers import Uniform
from horovodize.python.syntax import Loop, arguments
from horovodize.rules.drafting.draft import Draft


def is_shared(draft: Draft, order: ast.Call, loops: Iterable[Loop], sources: Iterable[ast.AST]) -> bool:
    """Whether a rank may draw from the stream of an order as often as its own rows have it.

    loops: those that train on a rank's own rows; sources: the functions and classes that give their rows"""
    others = (c for c in _own(draft, loops, sources) if c is not order and same(draft, order, c))
    return bool(draft.syntax.loops(order) or draft.syntax.function(order)) and any(others)


def _own(draft: Draft, loops: Iterable[Loop], sources: Iterable[ast.AST]) -> Iterator[ast.Call]:
    """What is drawn for a rank's own rows, as often as they have it."""
    for loop in loops:
        for call in draft.facts.feeding.calls_in(loop):
            if draft.uniform.draws.draws(call) and not _as_often(draft, call, loop):
                yield call
    for cls in (s for s in sources if isinstance(s, ast.ClassDef)):
        for method in cls.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__getitem__":
                yield from (c for c in draft.facts.feeding.calls_in(method) if draft.uniform.draws.draws(c))


def _as_often(draft: Draft, call: ast.Call, loop: Loop) -> bool:
    """Whether a call in a loop draws as many numbers on each rank, whatever rows it has."""
    uniform = draft.uniform
    within = [n for way in draft.drive.ways(call) for f in way for n in f.loops if n is not loop]
    within = [n for n in within if draft.syntax.inside(n, loop) or not draft.syntax.inside(loop, n)]
    tests = [a.test for a in draft.syntax.ancestors(call) if isinstance(a, ast.While)]
    sizes = arguments(call)
    return (
        uniform.reached_alike(call)
        and not any(uniform.turns(n) for n in within)
        and all(isinstance(uniform.of(e), Uniform) for e in (*tests, *sizes))
    )


def same(draft: Draft, one: ast.Call, other: ast.Call) -> bool:
    """Whether two calls draw from one stream."""
    known = draft.uniform.draws
    makers = known.maker(one), known.maker(other)
    if makers != (None, None):
        return makers[0] is makers[1]
    libraries = [(draft.names.of(c.func) or "").rpartition(".")[0] for c in (one, other)]
    return libraries[0] == libraries[1] and libraries[0] in ("numpy.random", "random")
