"""Decisions by an optimizer's own rate, which is multiplied by the number of ranks: part of C5.

`if optimizer.learning_rate < 1e-6: break` compares what is size() times larger now; so is what it is compared with, also where
the rate comes from a schedule, `if schedule(step) < 1e-6:`, `if sess.run(decayed) > 1e-6:`. Likewise
the rates beside it where a new one is made of it: the floor of `max(0.5 * optimizer.lr, 1e-6)`, `lr = 1e-4` in one case.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function, arguments
from horovodize.rules.drafting.decisions import Scaled
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import decays
from horovodize.rules.rates import scheduled_reads

_WHAT = "Multiply what the rate is compared with by the number of ranks"
_WHAT_BESIDE = "Multiply the rate that stands beside the optimizer's own by the number of ranks"
_BOUNDS = ("max", "min", "maximum", "minimum", "clip", "clip_by_value", "fmax", "fmin")
_LIMIT = 400
_MIXED = (
    "this gives the rate that it is told, which is scaled already, or another one, which isn't, and others read it, too: "
    "multiply that other one by `hvd.size()` where it becomes the optimizer's"
)
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SAME = ("float", "float32", "float64", "cast", "round")
_WHY = "This is the optimizer's own rate, which is multiplied by the number of ranks already."


def scale_comparisons(draft: Draft, is_rate: Callable[[Draft, ast.expr], bool]) -> None:
    """Multiplies the numbers that a rate is compared with.

    is_rate: whether an expression is a rate that is multiplied already"""
    for test in draft.syntax.every(ast.Compare) if draft.growth else ():
        if not all(isinstance(op, _ORDERS) for op in test.ops):
            continue
        sides = [test.left, *test.comparators]
        own = [side for side in sides if is_rate(draft, decays.read(draft, side))]
        others = [] if own else [side for side in sides if not isinstance(side, ast.Constant)]
        scheduled = [side for side in others if scheduled_reads.is_read(draft, side)]
        for side in sides if own or scheduled else ():
            is_zero = isinstance(side, ast.Constant) and side.value == 0
            made_of = [side, *draft.values.depends([side], _LIMIT)]
            relative = any(isinstance(n, (ast.Name, ast.Attribute)) and is_rate(draft, n) for n in made_of)
            relative = relative or (bool(scheduled) and scheduled_reads.are_scaled(draft, made_of))
            if not is_zero and not relative and draft.decide(side, Scaled("C5")):
                draft.change("C5", side, _WHAT, _WHY, draft.times(side, draft.growth))


def scale_beside(draft: Draft, rule: str, value: ast.expr, is_own: Callable[[ast.expr], bool]) -> None:
    """Multiplies the rates that a new one may be instead of what is made of the optimizer's own, and what it is compared with.

    is_own: whether an expression is made of the optimizer's rate, or what Keras passes of it"""
    names: set[str] = set()
    for e in list(_beside(draft, value, is_own, names)):
        _multiply(draft, rule, e, _WHAT_BESIDE)
    function = draft.syntax.function(value)
    for test in draft.syntax.every(ast.Compare) if names else ():
        if draft.syntax.function(test) is function and all(isinstance(op, _ORDERS) for op in test.ops):
            sides = [test.left, *test.comparators]
            own = [s for s in sides if isinstance(s, ast.Name) and s.id in names and is_own(s)]
            for side in sides if own else ():
                if not is_own(side):
                    _multiply(draft, rule, side, _WHAT)


def _is_variable(draft: Draft, e: ast.expr) -> bool:
    """Whether the optimizer's rate itself is made there: a variable begins with a rate that is multiplied already."""
    return isinstance(e, ast.Call) and draft.names.last(e.func) in decays.VARIABLES


def _multiply(draft: Draft, rule: str, e: ast.expr, what: str) -> None:
    is_number = isinstance(e, ast.Constant) and isinstance(e.value, (int, float)) and e.value
    if (is_number or not isinstance(e, ast.Constant)) and draft.decide(e, Scaled(rule)):
        draft.change(rule, e, what, _WHY, draft.times(e, draft.growth))


def _beside(
    draft: Draft, e: ast.expr, is_own: Callable[[ast.expr], bool], names: set[str]
) -> Iterator[ast.expr]:
    """The rates that an expression may stand for, or is bounded or moved by, that are not made of the optimizer's own; `names`
    gets those that stand for it on the way."""
    if not is_own(e):
        yield e
        return
    match e:
        case ast.Name() if e.id not in names:
            names.add(e.id)
            for b in draft.module.scopes.reaching(e):
                if (
                    b.kind == "assign"
                    and not b.path
                    and b.value is not None
                    and not _is_variable(draft, b.value)
                ):
                    yield from _beside(draft, b.value, is_own, names)
        case ast.IfExp():
            yield from _beside(draft, e.body, is_own, names)
            yield from _beside(draft, e.orelse, is_own, names)
        case ast.Call() if draft.names.last(e.func) in _BOUNDS:
            for arg in arguments(e):
                yield from _beside(draft, arg, is_own, names)
        case ast.Call() if draft.names.last(e.func) in _SAME and e.args:
            yield from _beside(draft, e.args[0], is_own, names)
        case ast.Call():
            yield from _given(draft, e, is_own)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield from _beside(draft, e.left, is_own, names)
            yield from _beside(draft, e.right, is_own, names)
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            both = is_own(e.left) and is_own(e.right)
            for side in (e.left, e.right):
                if is_own(side) and not (both and isinstance(side, ast.Call)):  # `lr * factor(lr)`
                    yield from _beside(draft, side, is_own, names)


def _given(draft: Draft, call: ast.Call, is_own: Callable[[ast.expr], bool]) -> Iterator[ast.expr]:
    """The rates that a call may give which aren't made of the optimizer's own, that it is told: what a function returns
    besides, `return lr` or `return 0.01`; what a table holds, of `table.get(epoch, lr)`. Where others may read them, too, that
    is asked."""
    if not draft.once("rates that are given", call):
        return  # of a function that calls itself
    found = list(_of_table(draft, call) or _of_function(draft, call, is_own))
    if found and _is_read_elsewhere(draft, call):
        draft.ask("C5", call, _WHAT_BESIDE, _WHY, _MIXED)
    else:
        yield from found


def _of_table(draft: Draft, call: ast.Call) -> list[ast.expr]:
    """The values of a dictionary that is written out."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "get":
        return []
    tables = [o.node for o in draft.values.origins(call.func.value) if not o.path]
    return [v for t in tables if isinstance(t, ast.Dict) for v in t.values]


def _of_function(draft: Draft, call: ast.Call, is_own: Callable[[ast.expr], bool]) -> Iterator[ast.expr]:
    for function in _functions(draft, call):
        given = dict(zip(_parameters(draft, function), call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
        own = {name for name, e in given.items() if is_own(e)}

        def is_own_inside(e: ast.expr, own: set[str] = own) -> bool:
            made_of = draft.values.depends([e], _LIMIT)
            return is_own(e) or any(isinstance(n, ast.Name) and n.id in own for n in made_of)

        for value in draft.values.returned(function):
            yield from _beside(draft, value, is_own_inside, set())


def _functions(draft: Draft, call: ast.Call) -> list[Function | ast.Lambda]:
    """The functions of the program that a call may run: also by a name or a field that holds one."""
    callee = draft.values.callee(call)
    found = (
        [callee] if callee is not None else [o.node for o in draft.values.origins(call.func) if not o.path]
    )
    return [f for f in found if isinstance(f, CALLABLES)]


def _parameters(draft: Draft, function: Function | ast.Lambda) -> list[str]:
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if draft.syntax.method_class(function) is not None else names


def _is_read_elsewhere(draft: Draft, call: ast.Call) -> bool:
    """Whether something else than a call reads the function, or the table, that it gets a rate of."""
    functions = [f for f in _functions(draft, call) if isinstance(f, FUNCTIONS)]
    names = [f.name for f in functions]
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "get"
        and isinstance(call.func.value, ast.Name)
    ):
        names.append(call.func.value.id)
    reads = [
        n
        for n in draft.syntax.every(ast.Name, ast.Attribute)
        if isinstance(n.ctx, ast.Load) and (n.id if isinstance(n, ast.Name) else n.attr) in names
        and not any(draft.syntax.inside(n, f) for f in functions)
    ]  # fmt: skip
    return len(reads) > 1
