"""What objects are given by the order of their fields: `Result(loss, 3).loss` of a named tuple or a dataclass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS

_NAMED_TUPLE = "collections.namedtuple"


def given_as(module: Module, made: ast.Call, field: str) -> Iterator[ast.expr]:
    """What a call that makes an object gives it for a field: by its name, or by its place; else what the class says."""
    by_name = [k.value for k in made.keywords if k.arg == field]
    if by_name:
        yield from by_name
        return
    fields = (
        dict(_fields(module, made))
        if made.args or isinstance(module.values.callee(made), ast.ClassDef)
        else {}
    )
    place = list(fields).index(field) if field in fields else len(made.args)
    default = fields.get(field)
    if place < len(made.args) and not any(isinstance(a, ast.Starred) for a in made.args[: place + 1]):
        yield made.args[place]
    elif default is not None:
        yield default


def read_by(module: Module, e: ast.expr) -> list[ast.expr]:
    """What a field that is read was given by the calls that made its objects, where nothing sets it: `where.rank` of
    `where = Place(hvd.rank(), hvd.size())`. Whatever else it may be is left out."""
    if not isinstance(e, ast.Attribute) or module.names.of(e) is not None:
        return []
    if module.values.attribute_bindings(e):
        return []
    return [given for made in module.values.calls(e.value) for given in given_as(module, made, e.attr)]


def given_anywhere(module: Module, field: str) -> list[ast.expr]:
    """The same of all calls that make an object with such a field, where it isn't known which object is meant."""
    made = (c for c in module.syntax.calls if field in dict(_fields(module, c)))
    return [given for call in made for given in given_as(module, call, field)]


def names(module: Module, made: ast.Call) -> list[str]:
    """The fields that a call which makes an object gives it, in their order; none where its class says itself how."""
    return [name for name, _ in _fields(module, made)]


def set_by_name(module: Module, field: str) -> list[ast.expr]:
    """What `setattr(state, "loss", loss)` gives objects for a field of that name."""
    calls = (c for c in module.calls_called("setattr") if len(c.args) == 3)
    return [c.args[2] for c in calls if isinstance(c.args[1], ast.Constant) and c.args[1].value == field]


def _fields(module: Module, made: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    """The fields of an object in the order in which a call gives them, with what they are else; none where a class says itself
    how its objects are made."""
    callee = module.values.callee(made)
    if isinstance(callee, ast.ClassDef):
        family = [callee, *(c for c in module.values.family(callee) if c is not callee)]
        if any(isinstance(s, FUNCTIONS) and s.name == "__init__" for c in family for s in c.body):
            return
        for s in (s for c in reversed(family) for s in c.body):
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name):
                yield s.target.id, s.value
        return
    for kind in module.values.calls(made.func):
        if module.names.of(kind.func) == _NAMED_TUPLE and len(kind.args) > 1:
            names = kind.args[1]
            if isinstance(names, ast.Constant) and isinstance(names.value, str):
                yield from ((name, None) for name in names.value.replace(",", " ").split())
            elif isinstance(names, (ast.List, ast.Tuple)):
                yield from ((str(n.value), None) for n in names.elts if isinstance(n, ast.Constant))


__all__ = ["given_anywhere", "given_as", "names", "read_by", "set_by_name"]
