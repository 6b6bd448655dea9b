"""What each rank still does size() times over, where batches are dealt out after they are made: part of G4 and S5."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.python.syntax import COMPREHENSIONS, FUNCTIONS
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding

_PREPARES = (
    "every rank prepares the batches of all ranks here to keep its own: where that takes long, let what gives them skip the "
    "others' before it reads or makes them"
)
_YIELDS = (ast.Yield, ast.YieldFrom)
_GIVING = ("__iter__", "__next__", "__getitem__")


def tell(draft: Draft, rule: str, at: ast.AST, functions: Iterable[ast.AST | None]) -> None:
    """Says it where a batch takes more than a part of an array: what gives it reads files, or makes its rows one by one.

    functions: what gives the batches; others of the file that they call are looked at, too"""
    todo, seen = list(functions), set[ast.AST]()
    while todo:
        f = todo.pop()
        if not isinstance(f, FUNCTIONS) or f in seen:
            continue
        seen.add(f)
        inside = [n for s in f.body for n in ast.walk(s)]
        around = {a for n in inside if isinstance(n, _YIELDS) for a in draft.syntax.ancestors(n)}
        by_rows = any(isinstance(n, (*COMPREHENSIONS, ast.For)) and n not in around for n in inside)
        if by_rows or draft.facts.effects.output_calls.reads_files(f):
            draft.note(rule, at, _PREPARES)
            return
        todo += [draft.values.callee(n) for n in inside if isinstance(n, ast.Call)]


def givers(draft: Draft, batches: ast.expr) -> Iterator[ast.AST]:
    """The functions of this file that give the batches a loop goes through: a generator, or the methods of an object."""
    generator = feeding(draft).kinds.generator(batches)
    if generator is not None:
        yield generator
    for made in draft.values.calls(batches):
        kind = draft.values.callee(made)
        for owner in draft.values.family(kind) if isinstance(kind, ast.ClassDef) else ():
            yield from (s for s in owner.body if isinstance(s, FUNCTIONS) and s.name in _GIVING)


__all__ = ["givers", "tell"]
