"""Tests in functions that a program hands on as values: part of G5.

`hooks.append(save)`, `hooks.append(callback.on_step)`, `@on("step")` where this file's `on` keeps what it decorates, and
methods that are called by a name that is no constant, `getattr(hook, event)(step)`. Where it can't be followed what calls
such a function, a number that it is told may be one of a rank's steps: that is asked, of tests, and of rates that are
computed from it."""

from __future__ import annotations

import ast
import builtins
import re

from horovodize.python.syntax import CALLABLES, FUNCTIONS
from horovodize.rules.counts import thresholds
from horovodize.rules.counts.unseen_counts import only_shows
from horovodize.rules.drafting.decisions import Asked
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import feeding

_ASKED = (
    "it can't be seen what `{}` is: where it counts the steps of training, a rank takes size() times fewer, so divide what it "
    "is compared with by `hvd.size()`"
)
_OF_CONTAINERS = ("__getitem__", "__setitem__", "__delitem__", "__contains__", "__missing__")
_OF_STEPS = re.compile(r"step|iter|batch|update|count|^(i|k|n|t|it|idx|index)$")


def ask(draft: Draft, test: ast.expr) -> None:
    """Asks about a test of a number that a function is told which the program hands on."""
    sides = (test.left, *test.comparators) if isinstance(test, ast.Compare) else ()
    among = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn))
    numbers = [_number(side) for side in (sides[:1] if among else sides)]
    told = next((n for n in numbers if n is not None and _may_count(draft, n)), None)
    if told is None or not (among or any(_is_many(draft, side) for side in sides)):
        return
    if only_shows(draft, test) or draft.was(test, Asked) or _decides_nothing(draft, test, told):
        return
    if all(counted.is_divided(draft, d) for d in feeding(draft).drivers):
        draft.decide(test, Asked("G5"))
        draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _ASKED.format(draft.module.text(told)))


def _decides_nothing(draft: Draft, test: ast.expr, told: ast.expr) -> bool:
    """Whether no event hangs on a test: it only complains, asks what a container holds, or takes a value itself or another in
    its place, element by element, `tf.where(image < 128, image, 255 - image)`."""
    statement = draft.syntax.statement(test)
    if isinstance(statement, ast.If) and not statement.orelse and all(_complains(s) for s in statement.body):
        return True
    function = draft.syntax.function(test)
    if isinstance(function, FUNCTIONS) and function.name in _OF_CONTAINERS:
        return True
    around = draft.syntax.parent[test]
    chosen = (
        around.args[1:] if isinstance(around, ast.Call) and draft.names.last(around.func) == "where" else []
    )
    return any(ast.dump(e) == ast.dump(told) for e in chosen)


def _complains(statement: ast.stmt) -> bool:
    """`raise KeyError(…)`, of Python's own errors: not `raise StopTraining`, by which a run may end."""
    raised = statement.exc if isinstance(statement, ast.Raise) else None
    made = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(made, ast.Name) and made.id.endswith("Error") and hasattr(builtins, made.id)


def may_number_a_step(draft: Draft, e: ast.expr) -> bool:
    """Whether a parameter of such a function is most likely the number of a step: `step`, `iteration`, `i`."""
    is_number = isinstance(e, ast.Name) and bool(_OF_STEPS.search(e.id.lower()))
    return is_number and isinstance(e, ast.Name) and _may_count(draft, e)


def _is_many(draft: Draft, side: ast.expr) -> bool:
    """Whether a number is compared with more than 1, or in a formula."""
    known = draft.facts.feeding.kinds.constant(side)
    return isinstance(side, ast.BinOp) or (known is not None and known > 1)


def _number(e: ast.expr) -> ast.Name | ast.Attribute | None:
    """`step` of `step`, `step + 1` and `step % 100`."""
    while isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Mod, ast.Add, ast.Sub)):
        e = e.left
    return e if isinstance(e, (ast.Name, ast.Attribute)) else None


def _may_count(draft: Draft, number: ast.Name | ast.Attribute) -> bool:
    """Whether it can't be seen what a number is, and it may be that of a step."""
    if isinstance(number, ast.Attribute):
        return counted.perhaps(draft, number)
    bound = draft.module.scopes.reaching(number)
    if len(bound) != 1 or bound[0].kind != "parameter" or "epoch" in number.id.lower():
        return False
    function = bound[0].statement
    if not isinstance(function, CALLABLES) or draft.values.passed(bound[0]):
        return False
    return draft.facts.hooks.of(function) is None and _is_handed_on(draft, function)


def _is_handed_on(draft: Draft, function: ast.AST) -> bool:
    """Whether a function is kept in something of the program's, rather than given to a library."""
    if isinstance(function, ast.Lambda):
        return _is_kept(draft, function)
    if not isinstance(function, FUNCTIONS):
        return False
    if draft.syntax.method_class(function) is not None:
        return _is_called_by_name(draft, function) or any(
            isinstance(n.ctx, ast.Load) and n.attr == function.name and _is_kept(draft, n)
            for n in draft.syntax.every(ast.Attribute)
        )
    if function.decorator_list:
        return any(_registers(draft, decorator) for decorator in function.decorator_list)
    names = (n for n in draft.syntax.every(ast.Name) if n.id == function.name and isinstance(n.ctx, ast.Load))
    return any(
        _is_kept(draft, n)
        for n in names
        if any(b.statement is function for b in draft.module.scopes.reaching(n))
    )


def _is_called_by_name(draft: Draft, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """`getattr(hook, event)(step)`: whether it may be this method that is called by a name."""
    owner = draft.syntax.method_class(method)
    for call in draft.syntax.calls:
        if not (isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1):
            continue
        of, by = call.args[:2]
        around = draft.syntax.parent[call]
        is_called = isinstance(around, (ast.Assign, ast.NamedExpr)) or (
            isinstance(around, ast.Call) and around.func is call
        )
        if not is_called or draft.names.of(of) is not None:
            continue  # `getattr(tf.keras.optimizers, name)`
        classes = [c for c in draft.values.receiver(of) if isinstance(c, ast.ClassDef)]
        if classes and not any(owner in draft.values.family(c) for c in classes):
            continue
        if not isinstance(by, ast.Constant) or by.value == method.name:
            return True
    return False


def _registers(draft: Draft, decorator: ast.expr) -> bool:
    """`@on("step")`, `@trainer.on("step")`: whether a decorator is this program's, and keeps what it is given somewhere."""
    call = decorator if isinstance(decorator, ast.Call) else None
    made_by = draft.values.callee(call) if call is not None else None
    if made_by is None:
        named = [o.node for o in draft.values.origins(decorator) if not o.path] if call is None else []
        made_by = next((n for n in named if isinstance(n, FUNCTIONS)), None)
    return isinstance(made_by, FUNCTIONS) and _stores(draft, made_by)


def _stores(draft: Draft, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function keeps something that it is given, also by a function inside it."""
    parameters = {a.arg for n in ast.walk(function) if isinstance(n, FUNCTIONS) for a in n.args.args}
    return any(
        isinstance(n, ast.Name)
        and n.id in parameters
        and isinstance(n.ctx, ast.Load)
        and _is_stored(draft, n)
        for n in ast.walk(function)
    )


def _is_stored(draft: Draft, value: ast.expr) -> bool:
    """`kept.append(f)`, `kept[event] = f`, `kept[event].append((f, every))`"""
    around = draft.syntax.parent[value]
    return (
        _is_kept(draft, value, by_functions=False)
        or isinstance(around, ast.Assign)
        and any(isinstance(t, (ast.Subscript, ast.Attribute)) for t in around.targets)
    )


def _is_kept(draft: Draft, value: ast.expr, by_functions: bool = True) -> bool:
    """Whether something is put somewhere to be called. by_functions: also by a function of the program that it is given to"""
    around = draft.syntax.parent[value]
    if isinstance(around, ast.Call):
        callee = draft.values.callee(around)  # `on("step", save)`
        appends = (  # not `names.map(lambda x: …)`, whose result is used
            isinstance(around.func, ast.Attribute)
            and draft.names.of(around.func) is None
            and isinstance(draft.syntax.parent[around], ast.Expr)
        )
        keeps = by_functions and isinstance(callee, FUNCTIONS) and _stores(draft, callee)
        return value in around.args and (appends or keeps)
    return isinstance(around, (ast.Dict, ast.List, ast.Tuple))


__all__ = ["ask", "may_number_a_step"]
