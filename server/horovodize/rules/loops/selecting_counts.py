"""Whether rows are selected by a count of a generator: part of K4, D1 and G4.

`x[n : n + 8]`, `order[n]`, `np.load(f"part-{n}.npy")`, `names[n % len(names)]`, also by what is made of the count, or in a
function that is handed it. Not by what is drawn within bounds that it sets, `np.random.randint(0, int(n * level), 8)`, nor in a
table that is written out, `[0.1, 0.5, 1.0][n // 50]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import children, names_set, walk

_DEPTH = 3
_ROUNDS = 8
_STORES = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)
_TABLES = (ast.List, ast.Tuple, ast.Dict)


def select_rows(draft: Draft, function: Function, reads: Sequence[ast.AST]) -> bool:
    """Whether rows are selected by something that is read at these places of a function."""
    return _selects(draft, function, set(reads), set(), _DEPTH)


def _selects(draft: Draft, function: Function, reads: set[ast.AST], names: set[str], depth: int) -> bool:
    """names: what stands for something made of what is read"""
    inside = list(walk(function))
    for _ in range(_ROUNDS):
        before = len(names)
        for n in inside:
            if isinstance(n, _STORES) and n.value is not None and _is_made(draft, n.value, reads, names):
                targets = n.targets if isinstance(n, ast.Assign) else [n.target]
                names |= {name for t in targets for name in names_set(t)}
        if len(names) == before:
            break
    places = [place for n in inside for place in _places(draft, n)]
    if any(_is_made(draft, place, reads, names) for place in places):
        return True
    calls = [n for n in inside if isinstance(n, ast.Call) and depth]
    return any(_is_handed(draft, call, reads, names, depth) for call in calls)


def _places(draft: Draft, n: ast.AST) -> Iterator[ast.expr]:
    """What stands in a node where something is selected."""
    match n:
        case ast.Subscript():
            tables = [o.node for o in draft.values.origins(n.value)]
            if not all(isinstance(t, _TABLES) for t in tables):
                yield n.slice
        case ast.JoinedStr():
            yield n
        case ast.BinOp(op=ast.Mod(), left=left):
            if not any(isinstance(a, ast.Compare) for a in draft.syntax.ancestors(n)):
                yield left


def _is_made(draft: Draft, e: ast.AST, reads: set[ast.AST], names: set[str]) -> bool:
    """Whether an expression is made of what is read, other than by a draw."""
    todo = [e]
    while todo:
        n = todo.pop()
        if isinstance(n, ast.Call) and draft.uniform.draws.draws(n):
            continue
        if n in reads or (isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)):
            return True
        todo += children(n)
    return False


def _is_handed(draft: Draft, call: ast.Call, reads: set[ast.AST], names: set[str], depth: int) -> bool:
    """Whether a function of the program is handed it, and selects rows by it."""
    callee = draft.values.callee(call)
    if not isinstance(callee, FUNCTIONS):
        return False
    parameters = [*callee.args.posonlyargs, *callee.args.args]
    if parameters and draft.syntax.method_class(callee) is not None and isinstance(call.func, ast.Attribute):
        parameters = parameters[1:]
    given = [(p.arg, a) for p, a in zip(parameters, call.args, strict=False)]
    given += [(k.arg, k.value) for k in call.keywords if k.arg is not None]
    handed = {name for name, a in given if _is_made(draft, a, reads, names)}
    return bool(handed) and _selects(draft, callee, set(), handed, depth - 1)


__all__ = ["select_rows"]
