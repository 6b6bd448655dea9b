"""The first few of an order that is drawn in each turn: a batch drawn at random, `np.random.permutation(n)[:32]`.

An order by itself leaves all rows as they are. So does a part of it that is drawn once, or once for all the steps of a loop
(the rows of a fold): each of these steps sees the same rows."""

from __future__ import annotations

import ast

from horovodize.facts.differences.contexts import Context
from horovodize.facts.feeds.turn_calls import ORDERS, is_random
from horovodize.python.module import Module
from horovodize.python.random_generators import makers
from horovodize.python.syntax import arguments, position


def part_of_one(module: Module, e: ast.Subscript, context: Context) -> ast.Call | None:
    """What draws, for each step, the order that an expression takes a part of: `permutation(n)` of `permutation(n)[:32]`, of
    `order[:32]`, or `shuffle(order)` before that. None where there is none, or where it may be all of it."""
    part = e.slice
    if not isinstance(part, ast.Slice) or part.step is not None or (part.lower is part.upper is None):
        return None
    drawn = _drawn(module, e)
    if drawn is None or not _comes_with_each_step(module, drawn, context):
        return None
    sizes = {ast.unparse(a) for a in arguments(drawn)}
    sizes |= {f"len({size})" for size in sizes} | {f"{size}.shape[0]" for size in sizes}
    return None if part.upper is not None and ast.unparse(part.upper) in sizes else drawn


def _drawn(module: Module, e: ast.Subscript) -> ast.Call | None:
    order = e.value
    if not isinstance(order, ast.Name):
        return order if isinstance(order, ast.Call) and _is_order(module, order) else None
    bindings = module.scopes.reaching(order)
    made = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    if isinstance(made, ast.Call) and not bindings[0].path and _is_order(module, made):
        return made
    shuffled = [c for c in module.calls_called("shuffle") if _is_order(module, c) and _is_of(c, order.id)]
    function = module.syntax.function(e)
    before = [c for c in shuffled if position(c) < position(e) and module.syntax.function(c) is function]
    is_numbers = isinstance(made, ast.Call) and module.names.last(made.func) in ("arange", "list", "range")
    return before[-1] if is_numbers and before else None


def _is_order(module: Module, call: ast.Call) -> bool:
    is_drawn = is_random(module.names.of(call.func) or "") or bool(makers(module, call))
    return is_drawn and module.names.last(call.func) in ORDERS


def _is_of(call: ast.Call, name: str) -> bool:
    return len(call.args) == 1 and isinstance(call.args[0], ast.Name) and call.args[0].id == name


def _comes_with_each_step(module: Module, drawn: ast.Call, context: Context) -> bool:
    """Whether something is drawn in each turn of the innermost loop around a step, and in all of them alike."""
    node: ast.AST = drawn
    for c in context.around():
        if c.loops:
            inner = max(c.loops, key=position)
            decided = [d for d, _ in module.syntax.conditions(node) if module.syntax.inside(d, inner)]
            return any(module.syntax.inside(node, s) for s in inner.body) and not decided
        if c.call is None or module.syntax.conditions(node):
            return False
        node = c.call
    return False


__all__ = ["part_of_one"]
