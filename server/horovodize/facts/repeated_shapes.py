"""How many rows arrays have that repeat others: `np.tile(x, (8, 1))`, `np.array([image] * 8)`, `np.stack([f(i) for i in
range(8)])`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from horovodize.summary.module import Module
from horovodize.summary.syntax import argument
from horovodize.summary.values import Origin

Shape = tuple[int | None, ...]
_OF_A_LIST = ("array", "asarray", "stack", "vstack", "constant", "convert_to_tensor", "concatenate", "concat")
_JOINED = ("vstack", "concatenate", "concat")


def of_repeated(
    module: Module,
    call: ast.Call,
    of: Callable[[ast.expr], Shape | None],
    constant: Callable[[ast.expr], int | None],
) -> Shape | None:
    """The shape of what a call gives that puts one array beside itself, or what a comprehension makes; None of anything else.
    Dimensions that can't be seen are taken for one, None."""
    last, first = module.names.last(call.func), call.args[0] if call.args else None
    if first is None:
        return None
    if last == "tile" and len(call.args) == 2:
        return _tiled(of(first), call.args[1], constant)
    if last == "repeat" and len(call.args) >= 2:
        axis, own, count = argument(call, "axis", 2), of(first), constant(call.args[1])
        along = isinstance(axis, ast.Constant) and axis.value == 0
        return (
            (own[0] * count, *own[1:]) if along and own and own[0] is not None and count is not None else None
        )
    if last in _OF_A_LIST and argument(call, "axis", 1) is None:
        return _listed(module.values.origins(first), of, constant, joined=last in _JOINED)
    return None


def _tiled(own: Shape | None, times: ast.expr, constant: Callable[[ast.expr], int | None]) -> Shape | None:
    counts = (
        [constant(n) for n in times.elts] if isinstance(times, (ast.Tuple, ast.List)) else [constant(times)]
    )
    if own is None:
        return None
    most = max(len(counts), len(own))
    rows, repeats = (1,) * (most - len(own)) + own, (1,) * (most - len(counts)) + tuple(counts)
    return tuple(None if n is None or c is None else n * c for n, c in zip(rows, repeats, strict=True))


def _listed(
    made: list[Origin],
    of: Callable[[ast.expr], Shape | None],
    constant: Callable[[ast.expr], int | None],
    *,
    joined: bool,
) -> Shape | None:
    """joined: whether the arrays of a list are put one after another, rather than side by side"""
    if len(made) != 1 or made[0].path:
        return None
    match made[0].node:
        case ast.BinOp(op=ast.Mult(), left=ast.List(elts=[one, *more]), right=times):
            count, parts = constant(times), 1 + len(more)
        case ast.ListComp(
            elt=one,
            generators=[ast.comprehension(iter=ast.Call(func=ast.Name(id="range"), args=[times]), ifs=[])],
        ):
            count, parts = constant(times), 1
        case _:
            return None
    if count is None:
        return None
    own = of(one)
    if not joined:
        return (count * parts, *(own if own is not None else (None,)))
    return (count * parts * own[0], *own[1:]) if own and own[0] is not None else None


__all__ = ["of_repeated"]
