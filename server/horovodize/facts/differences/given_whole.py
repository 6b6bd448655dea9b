"""What gives an object attributes by names that stand nowhere: `State(**saved)` of a data class, `self.__dict__.update(saved)`,
`vars(state).update(saved)`, `setattr(self, name, value)`, `SimpleNamespace(**saved)`; and objects that are read as a whole:
`state = pickle.load(file)`. Any of their attributes may come from there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module

# What gives an object back that was written to a file.
_READING = ("load", "loads", "read_pickle")
_PLAIN_OBJECTS = ("argparse.Namespace", "types.SimpleNamespace")


def given_whole(module: Module, e: ast.expr) -> Iterator[ast.expr]:
    """What the attributes of an object may come from."""
    values = module.values
    for call in values.calls(e):
        made = values.callee(call)
        if isinstance(made, ast.ClassDef) and not _takes_apart(module, made):
            yield from (k.value for k in call.keywords if k.arg is None)
        elif module.names.of(call.func) in _PLAIN_OBJECTS:
            yield from (k.value for k in call.keywords if k.arg is None)
        elif made is None and module.names.last(call.func) in _READING:
            yield call
    for call in module.calls_called("update"):
        held = whose_attributes(call)
        if held is not None and values.receiver(held) & values.receiver(e):
            yield from (*call.args, *(k.value for k in call.keywords))
    for call in module.calls_called("setattr"):
        match call.args:
            case [held, name, value] if not isinstance(name, ast.Constant):
                if values.receiver(held) & values.receiver(e):
                    yield value


def _takes_apart(module: Module, made: ast.ClassDef) -> bool:
    """Whether a class says itself what becomes of what it is made with."""
    return any(
        isinstance(s, ast.FunctionDef) and s.name in ("__init__", "__new__")
        for c in module.values.family(made)
        for s in c.body
    )


def whose_attributes(call: ast.Call) -> ast.expr | None:
    """`o` of `o.__dict__.update(…)`, `vars(o).update(…)`"""
    match call.func:
        case ast.Attribute(attr="update", value=ast.Attribute(attr="__dict__", value=held)):
            return held
        case ast.Attribute(attr="update", value=ast.Call(func=ast.Name(id="vars"), args=[held])):
            return held
    return None
