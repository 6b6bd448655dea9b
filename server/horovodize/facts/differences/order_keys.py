"""By what elements are ordered or picked: the `key` of `sorted`, `min`, `max`, `list.sort` and `heapq`'s.

    best = min(members, key=lambda m: m.score)

The order of `members` follows from their scores, which may be a rank's own, whatever the list holds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.facts.differences.sources import FUNCTIONS as SOURCES
from horovodize.python import fields
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS
from horovodize.python.values import ITEM

if TYPE_CHECKING:
    from horovodize.facts.differences.calls import Calls
    from horovodize.facts.differences.flow import Flow, Item, Step

_ORDERING = ("sorted", "min", "max", "nsmallest", "nlargest", "merge", "sort")
_AFTER_A_NUMBER = ("nsmallest", "nlargest")
_EACH = ("map", "filter")
_COMPARING = "functools.cmp_to_key"


def ask(step: Step, calls: Calls, call: ast.Call, item: Item) -> None:
    """Asks for what the `key` that a call is given says of the elements."""
    for told in call.keywords:
        if told.arg != "key" or isinstance(told.value, ast.Constant):
            continue
        key, named = told.value, calls.names.of(told.value)
        if isinstance(key, ast.Call) and calls.names.of(key.func) == _COMPARING and key.args:
            key = key.args[0]
        functions = [
            o.node for o in calls.values.origins(key) if isinstance(o.node, CALLABLES) and not o.path
        ]
        for function in functions:
            calls.flow.control.returned(step, function, (), False)
        if functions:
            continue
        if isinstance(key, ast.Call):
            _picked_parts(step, calls, call, key, item)
        elif named is not None and named in SOURCES:
            step.varies(SOURCES[named], call)  # `key=os.path.getmtime`
        elif isinstance(key, ast.Attribute):
            step.ask(key.value)  # `key=scores.get`


def _picked_parts(step: Step, calls: Calls, call: ast.Call, key: ast.Call, item: Item) -> None:
    """`operator.itemgetter(1)` and `attrgetter("score")` name a part of each element; what else makes a key is asked for."""
    name = calls.names.of(key.func)
    for part in key.args:
        told = part.value if isinstance(part, ast.Constant) else None
        if name == "operator.itemgetter" and isinstance(told, (int, str)) and told != ITEM:
            for e, path in elements(call):
                step.ask(e, (*path, told))
        elif name == "operator.attrgetter" and isinstance(told, str):
            _attribute(step, calls.flow, told.rpartition(".")[2], call, item)
        else:
            step.ask(part)


def _attribute(step: Step, flow: Flow, attribute: str, use: ast.expr, item: Item) -> None:
    """What an attribute of that name is set to, of whichever of the elements."""
    flow.named(step, attribute, use, item)
    step.ask_all(fields.given_anywhere(flow.module, attribute))


def elements(call: ast.Call) -> list[tuple[ast.expr, tuple[int, ...]]]:
    """(what holds the elements that a call orders or picks from, the part of it that they are); of `min(a, b, key=…)` the
    elements themselves."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "sort":
        return [(call.func.value, (ITEM,))]
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = call.args[1:2] if name in _AFTER_A_NUMBER else call.args
    return [(e, (ITEM,) if len(given) == 1 else ()) for e in given]


def ordered_for(module: Module, b: Binding) -> ast.Call | None:
    """The call whose elements the first parameter of a function gets, one after another, as its `key`."""
    function = b.statement
    if not isinstance(function, CALLABLES) or b.anchor not in function.args.args[:2]:
        return None
    for given in _handed(module, function):
        around = module.syntax.parent.get(given)
        if isinstance(around, ast.Call) and module.names.of(around.func) == _COMPARING:
            around = module.syntax.parent.get(around)
        call = module.syntax.parent.get(around) if isinstance(around, ast.keyword) else None
        if isinstance(around, ast.keyword) and around.arg == "key" and isinstance(call, ast.Call):
            if module.names.last(call.func) in _ORDERING:
                return call
    return None


def passed(module: Module, b: Binding) -> list[tuple[ast.expr, tuple[int, ...]]]:
    """(what holds it, the part of it) of what a parameter gets as a `key`, or by `map` and `filter`: `map(by_score, rows)`."""
    ordered = ordered_for(module, b)
    if ordered is not None:
        return elements(ordered)
    function = b.statement
    if not isinstance(function, CALLABLES) or b.anchor not in function.args.args:
        return []
    place = function.args.args.index(b.anchor) + 1
    calls = [module.syntax.parent.get(given) for given in _handed(module, function)]
    return [
        (c.args[place], (ITEM,))
        for c in calls
        if isinstance(c, ast.Call) and place < len(c.args) and goes_through(module, c)
    ]


def goes_through(module: Module, call: ast.Call) -> bool:
    """Whether a call gives what a function makes of each element: `map(f, rows)`, or those that it holds for."""
    return isinstance(call.func, ast.Name) and call.func.id in _EACH and module.scopes.is_builtin(call.func)


def _handed(module: Module, function: ast.AST) -> list[ast.AST]:
    """Where a function is written or named to be handed over."""
    if isinstance(function, FUNCTIONS):
        return [n for n in module.loads.get(function.name) if isinstance(n, ast.Name)]
    return [function]


def picks(calls: Calls, e: ast.expr) -> list[ast.Call]:
    """The calls that order by a `key` what an expression is a part of: `ranked[0]` of `ranked = sorted(pop, key=…)`."""
    if not calls.keyed:
        return []
    picked = e.value if isinstance(e, ast.Subscript) else e
    made = [picked, *(o.node for o in calls.values.origins(e))]
    return [n for n in made if isinstance(n, ast.Call) and n in calls.keyed]


def keyed(module: Module) -> frozenset[ast.Call]:
    """The calls of a module that order or pick by a `key`."""
    called = module.calls_called(*_ORDERING)
    return frozenset([c for c in called for k in c.keywords if k.arg == "key"])


__all__ = ["ask", "elements", "goes_through", "keyed", "ordered_for", "passed", "picks"]
