"""Batches of a dataset that a program hands on one for one, `map(prepare, dataset)`, `(prepare(a) for a in dataset)`, or by a
generator function, once or again and again (`itertools.cycle(dataset)`): a loop over those goes through the dataset, and can be
divided where that is made."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.python.syntax import CALLABLES, FUNCTIONS, LOOPS, is_forever
from horovodize.python.variables import bound_names
from horovodize.source.nodes import names_in, walk

if TYPE_CHECKING:
    from horovodize.summary.feeding import Feeding

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr)


def dataset_of(feeding: Feeding, e: ast.expr) -> ast.expr | None:
    """The dataset whose elements an expression gives, each made of nothing but itself; None where it isn't such."""
    given = _mapped(feeding, e) or _yielded(feeding, e)
    return given if given is not None and feeding.pipelines.is_dataset(given) else None


def datasets_drawn(feeding: Feeding, iterator: ast.expr) -> list[ast.expr]:
    """The datasets whose elements an iterator gives that a program draws from, `next(it)` of `it = cycle(dataset)`: one for
    each place that may have begun it. Nothing where one of those isn't such."""
    if feeding.pipelines.is_dataset(iterator):
        return [iterator]
    found = [dataset_of(feeding, begun) for begun in _begun(feeding, iterator)]
    return [d for d in found if d is not None] if None not in found else []


def _begun(feeding: Feeding, iterator: ast.expr) -> list[ast.expr]:
    """The calls that an iterator's name stands for."""
    if not isinstance(iterator, (ast.Name, ast.Attribute)):
        return [feeding.inside(iterator)]
    pipelines = feeding.pipelines
    return [feeding.inside(e) for b in pipelines.bindings(iterator) for e in pipelines.given(b) or [iterator]]


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
        case ast.Call(args=[given], keywords=[]) if feeding.names.of(e.func) == "itertools.cycle":
            return given
    return None


def _yielded(feeding: Feeding, e: ast.expr) -> ast.expr | None:
    """`dataset` of `prepared(dataset)`, where a function yields once for each element of its parameter, or of what it sees."""
    function = feeding.values.callee(e) if isinstance(e, ast.Call) else None
    if (
        not isinstance(e, ast.Call)
        or not isinstance(function, ast.FunctionDef)
        or not _keeps_nothing(function)
    ):
        return None
    whole = _gone_through(feeding, function)
    if isinstance(whole, ast.Attribute):
        return whole
    bound = feeding.module.scopes.reaching(whole) if isinstance(whole, ast.Name) else []
    if not isinstance(whole, ast.Name) or any(
        feeding.syntax.function(b.statement) is function for b in bound if b.kind != "parameter"
    ):
        return None
    if all(b.kind != "parameter" for b in bound):
        return whole
    return feeding.values.graph.given(e, function, whole.id) if len(bound) == 1 else None


def _gone_through(feeding: Feeding, function: ast.FunctionDef) -> ast.expr | None:
    """What a generator function goes through, once or for ever, and yields an item for each of."""
    yields = [n for n in walk(function) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    loops = [n for n in walk(function) if isinstance(n, LOOPS)]
    rounds = [n for n in loops if is_forever(n) and n in function.body and len(n.body) == 1]
    if len(yields) != 1 or len(rounds) > 1:
        return None
    (given,), inner = yields, [n for n in loops if n not in rounds]
    block = rounds[0].body if rounds else function.body
    statement = feeding.syntax.statement(given)
    if isinstance(given, ast.YieldFrom):
        return given.value if not inner and statement in block and isinstance(statement, ast.Expr) else None
    loop = inner[0] if len(inner) == 1 else None
    if not isinstance(loop, ast.For) or loop.orelse or loop not in block:
        return None
    last = loop.body[-1]
    is_last = isinstance(last, ast.Expr) and last.value is given
    return loop.iter if is_last and _is_of_its_turn(loop) else None


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


__all__ = ["dataset_of", "datasets_drawn"]
