"""How many rows arrays have that repeat others: `np.tile(x, (8, 1))`, `np.array([image] * 8)`, `np.stack([f(i) for i in
range(8)])`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.python.values import Origin

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
        filled = _filled(module, first, constant) if last not in _JOINED else None
        if filled is not None:
            return (filled, None)
        return _listed(module.values.origins(first), of, constant, joined=last in _JOINED)
    return None


def _filled(module: Module, listed: ast.expr, constant: Callable[[ast.expr], int | None]) -> int | None:
    """How many items a list gets that begins empty, and that each turn of one loop puts one into: `for row in sample(memory,
    32): states.append(row)`. At most so many, where no more may be there to be sampled."""
    bound = module.scopes.reaching(listed) if isinstance(listed, ast.Name) else []
    syntax, name = module.syntax, listed.id if isinstance(listed, ast.Name) else ""
    if len(bound) != 1 or not _is_empty_list(bound[0].value):
        return None
    function = syntax.function(listed)
    puts = [
        c
        for c in module.calls_called("append", "extend", "insert")
        if isinstance(c.func, ast.Attribute)
        and isinstance(c.func.value, ast.Name)
        and c.func.value.id == name
        and syntax.function(c) is function
    ]
    loops = syntax.loops(puts[0]) if len(puts) == 1 and module.names.last(puts[0].func) == "append" else ()
    loop = loops[0] if loops else None
    if not isinstance(loop, ast.For) or syntax.inside(bound[0].statement, loop):
        return None
    if list(syntax.loops(loop)) != list(syntax.loops(bound[0].statement)):
        return None
    if any(syntax.inside(test, loop) for test, _ in syntax.conditions(puts[0])):
        return None
    if any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(loop)):
        return None
    return _number_of_turns(module, loop.iter, constant)


def _number_of_turns(module: Module, e: ast.expr, constant: Callable[[ast.expr], int | None]) -> int | None:
    made = [o.node for o in module.values.origins(e)]
    call = made[0] if len(made) == 1 else None
    if not isinstance(call, ast.Call) or not call.args:
        return None
    name = module.names.of(call.func)
    if name == "random.sample" and len(call.args) > 1:
        return _most(module, call.args[1], constant)
    if isinstance(call.func, ast.Name) and call.func.id == "range" and len(call.args) == 1:
        return constant(call.args[0])
    if isinstance(call.func, ast.Name) and call.func.id in ("enumerate", "list", "reversed"):
        return _number_of_turns(module, call.args[0], constant)
    return None


def _most(module: Module, e: ast.expr, constant: Callable[[ast.expr], int | None]) -> int | None:
    """The number that a size is, or at most is: `min(len(memory), 32)`."""
    made = [o.node for o in module.values.origins(e)]
    least = made[0] if len(made) == 1 else None
    is_least = isinstance(least, ast.Call) and isinstance(least.func, ast.Name) and least.func.id == "min"
    parts = least.args if is_least and isinstance(least, ast.Call) else [e]
    known = [n for n in map(constant, parts) if n is not None]
    return min(known) if known else None


def _is_empty_list(e: ast.expr | None) -> bool:
    return isinstance(e, ast.List) and not e.elts


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
