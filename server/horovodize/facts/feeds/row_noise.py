"""Random numbers that are drawn for rows: one, or several, for each of them (`np.random.normal(size=x.shape)`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES

_MEASURING = ("shape", "len", "get_shape", "zeros_like", "ones_like", "shape_v2")
_SIZES = ("size", "shape")
_DEPTH = 4  # of names that stand for each other


def arrays(module: Module, draw: ast.AST) -> list[ast.expr]:
    """The arrays of which a draw gives as many numbers as they have rows: its shape begins with theirs."""
    if not isinstance(draw, ast.Call):
        return []
    first = module.names.last(draw.func) in (
        "rand",
        "randn",
    )  # `rand(n, 3)`: each argument is a part of the shape
    given = [*draw.args[:1], *(k.value for k in draw.keywords)] if first else _given(draw)
    return list(dict.fromkeys(a for e in given for a in _counted(module, e, _DEPTH)))


def _given(draw: ast.Call) -> list[ast.expr]:
    return [*draw.args, *(k.value for k in draw.keywords if k.arg in _SIZES)]


def _counted(module: Module, size: ast.AST, depth: int) -> Iterator[ast.expr]:
    """The arrays whose number of rows a shape begins with: `x` of `x.shape`, `(len(x), 3)`."""
    match size:
        case ast.Attribute(attr="shape"):
            yield size.value
        case ast.Call() if module.names.last(size.func) in _MEASURING:
            if size.args:
                yield size.args[0]
            elif isinstance(size.func, ast.Attribute):
                yield size.func.value
        case ast.Call(func=ast.Attribute(attr="as_list"), args=[]):
            yield from _counted(module, size.func.value, depth)  # type: ignore[attr-defined]
        case ast.Subscript(slice=ast.Constant(value=0) | ast.Slice(lower=None)):
            yield from _counted(module, size.value, depth)
        case ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]):
            yield from _counted(module, first, depth)
        case ast.Starred() | ast.NamedExpr():
            yield from _counted(module, size.value, depth)
        case ast.Name() if depth:
            for origin in module.values.origins(size):
                if (
                    origin.node is not size
                    and not isinstance(origin.node, CALLABLES)
                    and not any(origin.path)
                ):
                    yield from _counted(module, origin.node, depth - 1)
        case _:
            return
