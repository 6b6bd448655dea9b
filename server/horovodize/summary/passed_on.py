"""Batches of a dataset that a program hands on one for one, `map(prepare, dataset)`, `(prepare(a) for a in dataset)`, or by a
generator function: a loop over those goes through the dataset, and can be divided where that is made."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.source.nodes import names_in, walk
from horovodize.summary.syntax import CALLABLES, FUNCTIONS, LOOPS
from horovodize.summary.variables import bound_names

if TYPE_CHECKING:
    from horovodize.summary.feeding import Feeding

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr)


def dataset_of(feeding: Feeding, e: ast.expr) -> ast.expr | None:
    """The dataset whose elements an expression gives, each once and made of nothing but itself; None where it isn't such."""
    given = _mapped(feeding, e) or _yielded(feeding, e)
    return given if given is not None and feeding.pipelines.is_dataset(given) else None


def _mapped(feeding: Feeding, e: ast.expr) -> ast.expr | None:
    match e:
        case ast.GeneratorExp(generators=[ast.comprehension(ifs=[], is_async=0) as clause]):
            return clause.iter
        case ast.Call(func=ast.Name(id="map") as called, args=[function, given], keywords=[]):
            made = [o.node for o in feeding.values.origins(function)]
            builtin = not feeding.module.scopes.reaching(called)
            return (
                given
                if builtin and all(isinstance(f, CALLABLES) and _keeps_nothing(f) for f in made)
                else None
            )
    return None


def _yielded(feeding: Feeding, e: ast.expr) -> ast.expr | None:
    """`dataset` of `prepared(dataset)`, where a function yields once for each element of its parameter."""
    function = feeding.values.callee(e) if isinstance(e, ast.Call) else None
    if (
        not isinstance(e, ast.Call)
        or not isinstance(function, ast.FunctionDef)
        or not _keeps_nothing(function)
    ):
        return None
    yields = [n for n in walk(function) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    loops = [n for n in walk(function) if isinstance(n, LOOPS)]
    loop = loops[0] if len(loops) == len(yields) == 1 else None
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Name) or loop.orelse:
        return None
    last = loop.body[-1]
    if not (isinstance(last, ast.Expr) and last.value is yields[0] and isinstance(last.value, ast.Yield)):
        return None
    if feeding.syntax.block(loop) is not function.body or not _is_of_its_turn(loop):
        return None
    bound = feeding.module.scopes.reaching(loop.iter)
    if len(bound) != 1 or bound[0].kind != "parameter":
        return None
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    by_name = next((k.value for k in e.keywords if k.arg == loop.iter.id), None)
    place = parameters.index(loop.iter.id) if loop.iter.id in parameters else len(e.args)
    return by_name if by_name is not None else e.args[place] if place < len(e.args) else None


def _is_of_its_turn(loop: ast.For) -> bool:
    """Whether a turn reads nothing that one before has set."""
    known, later = bound_names(loop.target), {n for s in loop.body for n in _stored(s)}
    for statement in loop.body:
        if not isinstance(statement, _SIMPLE) or any(isinstance(n, ast.NamedExpr) for n in walk(statement)):
            return False
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Yield):
            return False
        read = names_in(statement.value) if statement.value is not None else set()
        if read & (later - known):
            return False
        known |= _stored(statement)
    return True


def _stored(statement: ast.stmt) -> set[str]:
    return {n.id for n in walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _keeps_nothing(function: ast.AST) -> bool:
    """Whether a function sets nothing that is there after it."""
    return isinstance(function, (*FUNCTIONS, ast.Lambda)) and not any(
        isinstance(n, (ast.Global, ast.Nonlocal))
        or (isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, (ast.Store, ast.Del)))
        for n in walk(function)
    )


__all__ = ["dataset_of"]
