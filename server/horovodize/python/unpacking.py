"""What a call is given by a dictionary that is written out: `model.compile(**settings)`."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import argument

_CHANGING = ("update", "pop", "popitem", "setdefault", "clear")


def unpacks(call: ast.Call) -> bool:
    """Whether a call is given a dictionary: it may pass any parameter."""
    return any(k.arg is None for k in call.keywords)


def passed(module: Module, call: ast.Call, name: str, index: int | None = None) -> ast.expr | None:
    """What a call passes for a parameter, by itself or by a dictionary that nothing changes; None where it can't be seen."""
    given = argument(call, name, index)
    return given if given is not None else named(module, call).get(name)


def named(module: Module, call: ast.Call) -> dict[str, ast.expr]:
    """What a call passes by name, also by dictionaries that nothing changes."""
    found: dict[str, ast.expr] = {}
    for k in call.keywords:
        found |= {k.arg: k.value} if k.arg is not None else _items(module, k.value)
    return found


def handed_on(module: Module, call: ast.Call) -> set[str] | None:
    """The names that a call passes by the `**kwargs` of its function: what all calls of that function give besides its
    parameters. None where more may be passed, or it can't be seen."""
    unpacked = [k.value for k in call.keywords if k.arg is None]
    function = module.syntax.function(call)
    if len(unpacked) != 1 or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    table, given = unpacked[0], function.args
    if not isinstance(table, ast.Name) or given.kwarg is None or given.kwarg.arg != table.id:
        return None
    uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == table.id]
    callers = module.values.callers(function)
    if len(uses) != 1 or not callers or any(unpacks(c) for c in callers):
        return None
    own = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return {k.arg for c in callers for k in c.keywords if k.arg is not None} - own


def _items(module: Module, table: ast.expr) -> dict[str, ast.expr]:
    """Of `{"name": a}`, `dict(name=a)`, and of a name that is only ever given such a dictionary."""
    if isinstance(table, ast.Name):
        bound = module.scopes.reaching(table)
        if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path or _changes(module, table.id):
            return {}
        table = bound[0].value or table
    match table:
        case ast.Dict(keys=keys, values=values):
            keyed = zip(keys, values, strict=True)
            return {str(k.value): v for k, v in keyed if isinstance(k, ast.Constant)}
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            return {k.arg: k.value for k in keywords if k.arg is not None}
    return {}


def _changes(module: Module, name: str) -> bool:
    """Whether a dictionary of this name is changed somewhere: `settings["loss"] = "mse"`, `settings.update(more)`."""
    items = (n for n in module.syntax.every(ast.Subscript) if not isinstance(n.ctx, ast.Load))
    changed = [n.value for n in items]
    changed += [c.func.value for c in module.calls_called(*_CHANGING) if isinstance(c.func, ast.Attribute)]
    return any(isinstance(e, ast.Name) and e.id == name for e in changed)
