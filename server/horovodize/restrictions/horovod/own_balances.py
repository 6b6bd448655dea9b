"""Numbers that losses are made with, and that each rank moves on by what it has measured of its own rows (HVD333).

    balance = 1.0
    for rows in batches:
        …  # loss = error + balance * penalty
        balance = 0.9 * balance + 0.1 / penalty

Gradients are averaged, so that the weights stay alike; but they are those of as many losses as there are ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving import OwnAnswers
from horovodize.python.binding import Binding
from horovodize.python.syntax import argument, position
from horovodize.restrictions.context import Context

_FAR = 2000  # nodes that a loss is made of
_Read = ast.Name | ast.Attribute


def own_balances(context: Context, answers: OwnAnswers) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    """The statements that move such numbers on, and how these are called."""
    if any(context.facts.steps.game(u.call) for u in context.sites.updates):
        return  # what a rank compares its own games with is its own
    loops = _training_loops(context)
    for call, variable, value in _moved_variables(context, loops) if loops else ():
        if answers.is_own_value(value):
            yield call, context.text(variable)
    told = set[ast.AST]()
    for read in _reads(context) if loops else ():
        bound = context.values.bindings(read)
        if not any(_is_number(b) and not _is_in(context, b, loops) for b in bound):
            continue
        for b in bound:
            if b.statement in told or not isinstance(b.statement, ast.stmt) or not _is_in(context, b, loops):
                continue
            if _goes_on(b, read) and not _is_of_step(context, b, read) and b.value is not None:
                if answers.is_own_value(b.value):
                    told.add(b.statement)
                    yield b.statement, context.text(read)


def _moved_variables(context: Context, loops: set[ast.AST]) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """The calls in a training loop that move a variable of the losses on by something, `table.assign(0.9 * table + 0.1 * x)`;
    the variable, and what it is set to. Not what is put into a queue."""
    made = {
        c
        for read in _reads(context)
        for c in context.values.calls(read)
        if context.names.last(c.func) == "Variable"
    }
    for n in context.module.loads.get("assign") if made else ():
        call = context.syntax.parent.get(n)
        if (
            not isinstance(n, ast.Attribute)
            or not isinstance(call, ast.Call)
            or call.func is not n
            or not call.args
        ):
            continue
        if not any(loop in loops for way in context.drive.ways(call) for f in way for loop in f.loops):
            continue
        of, value = context.values.calls(n.value), call.args[0]
        if of and set(of) <= made and _is_moved(context, value, n.value):
            yield call, n.value, value


def _is_moved(context: Context, value: ast.expr, variable: ast.expr) -> bool:
    """Whether a value is a variable times something, and something added: `0.9 * table + 0.1 * x`."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return False
    text = context.text(variable)
    factors = [
        e
        for side in (value.left, value.right)
        for e in (
            (side.left, side.right)
            if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult)
            else (side,)
        )
    ]
    return any(context.text(e) == text for e in factors)


def _training_loops(context: Context) -> set[ast.AST]:
    sites = [*(u.call for u in context.sites.updates), *(r.call for r in context.sites.graph.trainings)]
    return {
        loop for site in sites for way in context.drive.ways(site) for frame in way for loop in frame.loops
    }


def _reads(context: Context) -> list[_Read]:
    """The names that losses are made of, and what sessions are fed."""
    losses = [argument(g, "target", 0) for u in context.sites.updates for g in u.gradients]
    nodes = list(context.values.depends([e for e in losses if e is not None], _FAR)) if losses else []
    fed = [
        e for run in context.sites.graph.trainings if (e := argument(run.call, "feed_dict", 1)) is not None
    ]
    dicts = [o.node for e in fed for o in context.values.origins(e) if isinstance(o.node, ast.Dict)]
    nodes += [value for d in dicts for value in d.values]
    read = (n for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load))
    return sorted(dict.fromkeys(read), key=position)


def _is_number(b: Binding) -> bool:
    value = b.value.operand if isinstance(b.value, ast.UnaryOp) else b.value
    return b.kind == "assign" and isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _is_in(context: Context, b: Binding, loops: set[ast.AST]) -> bool:
    return any(loop in loops for way in context.drive.ways(b.statement) for f in way for loop in f.loops)


def _goes_on(b: Binding, read: _Read) -> bool:
    """Whether a number is moved on, rather than set to another: `balance += …`, `balance = 0.9 * balance + …`."""
    if b.kind == "augment":
        return True
    named = (n for n in ast.walk(b.value) if isinstance(n, _Read)) if b.value is not None else ()
    return b.kind == "assign" and not b.path and any(ast.unparse(n) == ast.unparse(read) for n in named)


def _is_of_step(context: Context, b: Binding, read: _Read) -> bool:
    """Whether a sum belongs to one step, whose loss it is: it is added up under the tape, or before what reads it."""
    tapes = context.sites.tapes
    around = [a for a in context.syntax.ancestors(b.statement) if isinstance(a, ast.With)]
    if any(item.context_expr in tapes for a in around for item in a.items):
        return True
    same = context.syntax.function(b.statement) is context.syntax.function(read)
    return same and isinstance(b.statement, ast.stmt) and position(b.statement) < position(read)


__all__ = ["own_balances"]
