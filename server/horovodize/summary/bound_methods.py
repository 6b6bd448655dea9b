"""Methods of an object that a name or a field holds, ready to be called: `step = tf.function(trainer.train_step)`."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import Function

_DEPTH = 4
_WRAPPING = ("tensorflow.function", "tensorflow.autograph.to_graph", "functools.partial")


def held(module: Module, called: ast.expr, method: Function) -> ast.Attribute | None:
    """Where a method is taken from its object, `trainer.train_step`, that is called under another name; None where it is called
    as it stands, or that isn't seen."""
    return _held(module, called, method, _DEPTH) if _is_other_name(called, method) else None


def _is_other_name(called: ast.expr, method: Function) -> bool:
    name = (
        called.attr
        if isinstance(called, ast.Attribute)
        else called.id
        if isinstance(called, ast.Name)
        else ""
    )
    return bool(name) and name != method.name


def _held(module: Module, e: ast.expr, method: Function, depth: int) -> ast.Attribute | None:
    if not depth:
        return None
    match e:
        case ast.Attribute(attr=method.name):
            return e
        case ast.Name():
            bound = module.scopes.reaching(e)
        case ast.Attribute():
            bound = module.values.attribute_bindings(e)
        case ast.IfExp(body=body, orelse=other):
            first, second = (_held(module, arm, method, depth - 1) for arm in (body, other))
            same = first is not None and second is not None and ast.unparse(first) == ast.unparse(second)
            return first if same else None
        case ast.Call(func=func, args=[inner, *_]) if module.names.of(func) in _WRAPPING:
            return _held(module, inner, method, depth - 1)
        case _:
            return None
    made = [b.value for b in bound if b.kind == "assign" and not b.path and b.value is not None]
    if len(made) != 1 or len(bound) != 1:
        return None
    return _held(module, made[0], method, depth - 1)


__all__ = ["held"]
