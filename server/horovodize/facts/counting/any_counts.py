"""Whether anything in a module may count the steps of training at all. Most scripts that train by `fit` have nothing that does;
there every rule that asks what counts has its answer at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from horovodize.facts.counting.counter_kinds import GLOBAL_STEPS, ITERATIONS
from horovodize.facts.counting.hooks import Hooks
from horovodize.python.augmented import augmented
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS
from horovodize.summary.feeding import Feeding
from horovodize.summary.sites import Sites

_COUNTED_BY = ("itertools.count", "tensorflow.compat.v1.train.global_step", *GLOBAL_STEPS)
_SETTING = ("assign", "assign_add")


def may_count(
    module: Module, sites: Sites, feeding: Feeding, hooks: Hooks, adds: Callable[[Binding], bool]
) -> bool:
    """Whether something may: a loop that trains, a graph, a hook, a generator, what is added to, what an optimizer counts.

    adds: whether a binding counts a number on"""
    if feeding.drivers or sites.builds_graph or hooks.all:
        return True
    syntax = module.syntax
    if next(iter(syntax.every(ast.Yield, ast.YieldFrom)), None) is not None:
        return True
    if not {n.attr for n in syntax.every(ast.Attribute)}.isdisjoint(ITERATIONS):
        return True
    if sites.method_calls(*_SETTING) or module.calls_of(*_COUNTED_BY):
        return True
    if syntax.every(ast.AugAssign) or bool(module.which(adds_by_assigning, ast.Assign)):
        return True
    if any(augmented(n) is not None for n in syntax.every(ast.NamedExpr)):
        return True
    return any(adds(b) for b in given_back(module))


def adds_by_assigning(module: Module, statement: ast.Assign) -> bool:
    """`step = step + 1`"""
    return augmented(statement) is not None


def given_back(module: Module) -> list[Binding]:
    """What names and attributes are set to that functions of the program give back."""
    calls = set(module.calls_which(_gives_back))
    return [b for b in _bindings(module) if b.value in calls] if calls else []


def _gives_back(module: Module, call: ast.Call) -> bool:
    function = module.values.callee(call)
    return isinstance(function, FUNCTIONS) and bool(module.values.returned(function))


def _bindings(module: Module) -> Iterable[Binding]:
    for names in module.scopes.names.values():
        for bound in names.values():
            yield from bound
    for bound in module.scopes.attributes.values():
        yield from bound


__all__ = ["adds_by_assigning", "given_back", "may_count"]
