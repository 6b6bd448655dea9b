"""Records that are others but for some fields: `state._replace(step=1)` of a named tuple, `dataclasses.replace(state, step=1)`,
`{**state, "step": 1}` of a dictionary; and what the field of a record may have been given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.facts.differences.class_attributes import classes_of
from horovodize.python import fields
from horovodize.python.module import Module
from horovodize.python.syntax import Function

_REPLACING = ("dataclasses.replace", "copy.replace", "attr.evolve", "attrs.evolve")
_LOADING = (
    "pickle.load",
    "pickle.loads",
    "json.load",
    "json.loads",
    "joblib.load",
    "cloudpickle.load",
    "dill.load",
)


REPLACING = (
    "_replace",
    "replace",
    "evolve",
    "dict",
)  # as the functions are called that give a record that replaces another


@dataclass(frozen=True, eq=False)
class Replaced:
    """A record that is another one, but for some fields. `whole`: that other one."""

    made: ast.expr
    whole: ast.expr
    fields: dict[str, ast.expr]


def replaced(module: Module, e: ast.AST) -> Replaced | None:
    """What an expression makes of another record: `state._replace(…)`, `replace(state, …)`, `{**state, …}`, `dict(state, …)`,
    `state | {…}`; None of anything else."""
    match e:
        case ast.Call(func=ast.Attribute(attr="_replace", value=whole), args=[]):
            return Replaced(e, whole, _given(e))
        case ast.Call(func=func, args=[whole]) if module.names.of(func) in _REPLACING:
            return Replaced(e, whole, _given(e))
        case ast.Call(func=ast.Name(id="dict") as func, args=[whole]) if module.scopes.is_builtin(func):
            return Replaced(e, whole, _given(e))
        case ast.Dict(keys=[None, *keys], values=[whole, *values]):
            return Replaced(e, whole, {t: v for k, v in zip(keys, values, strict=True) if (t := text_of(k))})
        case ast.Dict(keys=keys, values=values) if (last := _goes_on(module, e)) is not None:
            return Replaced(e, last, {t: v for k, v in zip(keys, values, strict=True) if (t := text_of(k))})
        case ast.BinOp(left=whole, op=ast.BitOr(), right=ast.Dict(keys=keys, values=values)):
            return Replaced(e, whole, {t: v for k, v in zip(keys, values, strict=True) if (t := text_of(k))})
    return None


def _goes_on(module: Module, e: ast.Dict) -> ast.expr | None:
    """`state` of `state = {"step": state["step"] + 1, "best": best}`, which is written out as a whole."""
    if not isinstance(module.syntax.parent.get(e), (ast.Assign, ast.Return)):
        return None
    for key, value in zip(e.keys, e.values, strict=True):
        match value:
            case ast.BinOp(
                left=ast.Subscript(value=(ast.Name() | ast.Attribute()) as last, slice=at), op=ast.Add()
            ) if text_of(key) and text_of(key) == text_of(at):
                return last
    return None


def in_place(e: ast.AST) -> Replaced | None:
    """`state.update(step=1)`, `state.update({"step": 1})`: a dictionary that stays the same one."""
    match e:
        case ast.Call(func=ast.Attribute(attr="update", value=whole), args=[]):
            return Replaced(e, whole, _given(e))
        case ast.Call(
            func=ast.Attribute(attr="update", value=whole), args=[ast.Dict(keys=keys, values=values)]
        ):
            return Replaced(e, whole, {t: v for k, v in zip(keys, values, strict=True) if (t := text_of(k))})
    return None


def renewed(module: Module, call: ast.Call) -> Replaced | None:
    """`State(state.step + 1, loss)`: an object that is made of one before by its fields; None of anything else."""
    made = {name: list(fields.given_as(module, call, name)) for name in fields.names(module, call)}
    given = {name: values[0] for name, values in made.items() if len(values) == 1}
    for name, value in given.items():
        match value:
            case ast.BinOp(left=ast.Attribute(attr=attr, value=whole), op=ast.Add()) if attr == name:
                return Replaced(call, whole, given)
    return None


def _given(call: ast.Call) -> dict[str, ast.expr]:
    return {k.arg: k.value for k in call.keywords if k.arg is not None}


def text_of(key: ast.expr | None) -> str:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def given(module: Module, e: ast.Attribute) -> Iterator[tuple[ast.AST, tuple[int | str, ...]]]:
    """What may have given a field its value where an object of a class was made, besides what the class says: what it was made
    with, what replaced it, and objects that come from elsewhere, a file that one was written to."""
    classes = classes_of(module, e.value)
    made = set[ast.AST]()
    for node, path in _wholes(module, e):
        if isinstance(node, ast.Call) and not path and _makes(module, node):
            made.add(node)
        elif not isinstance(node, (ast.ClassDef, ast.arg)) and node is not e.value:
            yield node, path
    if not made:  # in a method of the class itself
        made |= {call for c in classes for call in module.values.callers(c)}
    for call in made:
        if isinstance(call, ast.Call):
            yield from ((value, ()) for value in fields.given_as(module, call, e.attr))
    if len(made) > 1:
        yield e.value, ()  # which of them it is


def is_replaced(module: Module, e: ast.Attribute) -> bool:
    """Whether what has a field may be another record but for some fields."""
    origins = module.values.origins(e.value)
    return any(not o.path and replaced(module, o.node) is not None for o in origins)


def _makes(module: Module, call: ast.Call) -> bool:
    return isinstance(module.values.callee(call), ast.ClassDef) or bool(fields.names(module, call))


def _wholes(module: Module, e: ast.Attribute) -> Iterator[tuple[ast.AST, tuple[int | str, ...]]]:
    """What an object may be that has a field, through what replaces it; in the place of that the field where it is set."""
    todo, seen = [e.value], set[ast.AST]()
    while todo:
        for o in module.values.origins(todo.pop()):
            if o.node in seen:
                continue
            seen.add(o.node)
            other = replaced(module, o.node) if not o.path else None
            if other is None:
                yield o.node, o.path
            elif e.attr in other.fields:
                yield other.fields[e.attr], ()
            else:
                todo.append(other.whole)


def gives_record(module: Module, function: Function) -> bool:
    """Whether a function is seen to give a record that a program makes of constants, or has loaded from a file: one that can be
    sent to other ranks."""
    found = [o for e in module.values.returned(function) for o in module.values.origins(e)]
    calls = [o.node for o in found if isinstance(o.node, ast.Call)]
    made = [c for c in calls if isinstance(module.values.callee(c), ast.ClassDef)]
    loaded = [c for c in calls if module.names.of(c.func) in _LOADING]
    plain = all(isinstance(a, ast.Constant) for c in made for a in (*c.args, *(k.value for k in c.keywords)))
    return (
        bool(made)
        and plain
        and len(made) + len(loaded) == len(found)
        and all(fields.names(module, c) for c in made)
    )


__all__ = ["Replaced", "given", "gives_record", "in_place", "is_replaced", "renewed", "replaced", "text_of"]
