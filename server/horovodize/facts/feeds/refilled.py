"""Whether a function gives the same arrays again with each batch, filled with other rows.

`images = np.empty(…)`, then `images[i] = …` and `yield images` in a loop: whoever keeps a batch and asks for the next has the
rows of the next one in both."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import Function, Syntax
from horovodize.source.nodes import walk

_FILLING = ("copyto", "clear", "fill", "readinto")
_HELD = (ast.Name, ast.Attribute)


def gives_again(syntax: Syntax, function: Function) -> bool:
    """Whether what a function returns, or yields in a loop, is filled again rather than made again."""
    filled = set(_filled(function))
    for n in walk(function) if filled else ():
        if (
            not isinstance(n, (ast.Yield, ast.Return))
            or n.value is None
            or syntax.function(n) is not function
        ):
            continue
        around = function if isinstance(n, ast.Return) else next(iter(syntax.loops(n)), None)
        made = _made(around) if around is not None else filled
        if any(name in filled and name not in made for name in _given(n.value)):
            return True
    return False


def _given(value: ast.expr) -> Iterator[str]:
    """What stands for the arrays of a batch: `x`, `self.x`, `x[:n]`, not what a call makes of them, nor parts of data sets."""
    todo = [value]
    while todo:
        e = todo.pop()
        if isinstance(e, (ast.Tuple, ast.List)):
            todo += e.elts
        elif isinstance(e, ast.Dict):
            todo += e.values
        elif isinstance(e, ast.Subscript) and isinstance(e.slice, ast.Slice) and e.slice.lower is None:
            todo.append(e.value)
        elif isinstance(e, _HELD):
            yield ast.unparse(e)


def _filled(function: Function) -> Iterator[str]:
    """`x[i] = …`, `x[:] += …`, `np.copyto(x, …)`, `f(…, out=x)`, `x.clear()`"""
    for n in walk(function):
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store):
            root: ast.expr = n
            while isinstance(root, ast.Subscript):
                root = root.value
            yield ast.unparse(root)
        elif isinstance(n, ast.Call):
            yield from (ast.unparse(k.value) for k in n.keywords if k.arg == "out")
            if isinstance(n.func, ast.Attribute) and n.func.attr in _FILLING:
                into = n.args[:1] if n.func.attr in {"copyto", "readinto"} else [n.func.value]
                yield from (ast.unparse(e) for e in into)


def _made(around: ast.AST) -> set[str]:
    """The names that are bound in each turn of a loop, or by each call of a function, its parameters too."""
    return {
        ast.unparse(n) for n in walk(around) if (isinstance(n, _HELD) and isinstance(n.ctx, ast.Store))
    } | {n.arg for n in walk(around) if isinstance(n, ast.arg)}


__all__ = ["gives_again"]
