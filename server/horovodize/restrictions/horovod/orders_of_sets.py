"""Collectives in a loop over a set. Strings and objects come out of a set in another order in each process, so that ranks come
to other collectives first, and wait for each other. A set of numbers has the same order everywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context

_CALLBACKS = ("BroadcastGlobalVariablesCallback", "MetricAverageCallback")
_HOOKS = "on_"  # how the methods of callbacks begin that are called by hand
_ITERATING = ("enumerate", "list", "tuple", "iter", "reversed")


def collectives_by_sets(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Collectives that are done for one element of a set after the other, and the set."""
    for loop in context.syntax.every(ast.For):
        assert isinstance(loop, ast.For)
        elements = _unordered(context, loop.iter)
        if len(elements) > 1 and (call := _first_within(context, loop, elements)) is not None:
            yield call, loop.iter


def _unordered(context: Context, e: ast.expr) -> list[ast.expr]:
    """The elements of a set whose order surely differs between processes; none of what may be a set of numbers, or none."""
    while isinstance(e, ast.Call) and context.is_builtin(e.func, *_ITERATING) and len(e.args) == 1:
        (e,) = e.args
    origins = context.values.origins(e)
    if len(origins) != 1 or origins[0].path:
        return []
    made: ast.AST = origins[0].node
    if isinstance(made, ast.Call) and context.is_builtin(made.func, "set", "frozenset") and made.args:
        made = made.args[0]
        if not isinstance(made, (ast.List, ast.Tuple)):
            return []
    elif not isinstance(made, ast.Set):
        return []
    distinct = {ast.unparse(x): x for x in made.elts}
    return [x for x in distinct.values() if _has_own_hash(context, x)]


def _has_own_hash(context: Context, e: ast.expr) -> bool:
    """Whether a value's place in a set is another one in each process: a text, or an object."""
    if isinstance(e, ast.Constant):
        return isinstance(e.value, (str, bytes))
    made = context.values.calls(e)
    return bool(made) and all(_makes_object(context, c) for c in made)


def _makes_object(context: Context, call: ast.Call) -> bool:
    return (
        isinstance(context.values.callee(call), ast.ClassDef) or context.names.last(call.func)[:1].isupper()
    )


def _first_within(context: Context, loop: ast.For, elements: list[ast.expr]) -> ast.Call | None:
    """The first collective in a loop that goes by the element of its turn."""
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    together = context.facts.collectives.all
    for s in loop.body:
        for n in ast.walk(s):
            if not isinstance(n, ast.Call) or not targets & {
                x.id for x in ast.walk(n) if isinstance(x, ast.Name)
            }:
                continue
            if n in together and argument(n, "process_set") is None and _is_at_once(context, n):
                return n
            if _is_of_callback(context, n, targets, elements):
                return n
    return None


def _is_at_once(context: Context, call: ast.Call) -> bool:
    """Whether a collective is done where it is called; in a graph its name says which of other ranks it meets."""
    name = context.facts.horovod.name_of(call)
    return not context.sites.builds_graph or "keras" in name or name.endswith("_object")


def _is_of_callback(context: Context, call: ast.Call, targets: set[str], elements: list[ast.expr]) -> bool:
    """`callback.on_train_begin()`, of callbacks that send or average."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if name in targets and method.startswith(
            _HOOKS
        ):
            made = [c for e in elements for c in context.values.calls(e)]
            return bool(made) and all(context.facts.horovod.is_call(c, *_CALLBACKS) for c in made)
    return False
