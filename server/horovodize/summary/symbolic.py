"""What stands for the values of a Keras model that is being put together: no number is computed by it yet.

    inputs = keras.Input((6,))
    model = keras.Model(inputs, head(body(inputs)))

Also what models that are there have, `base.output`."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import arguments
from horovodize.summary.sites import MODEL

INPUTS = ("tensorflow.keras.Input", "tensorflow.keras.layers.Input")
_OF_MODELS = ("input", "inputs", "output", "outputs")
_DEPTH = 40


def is_symbolic(module: Module, e: ast.expr) -> bool:
    """Whether an expression is a `keras.Input`, or what layers, models and operations make of one."""
    seen, todo = set[ast.AST](), [e]
    while todo and len(seen) < _DEPTH * _DEPTH:
        e = todo.pop()
        if e in seen:
            continue
        seen.add(e)
        match e:
            case ast.Call() if module.names.of(e.func) in INPUTS:
                return True
            case ast.Call():
                todo += arguments(e)
                todo += [o.node for o in module.values.origins(e) if isinstance(o.node, ast.expr)]
            case ast.Attribute(attr=attr, value=model) if attr in _OF_MODELS and _is_model(module, model):
                return True
            case ast.Name() | ast.Attribute():
                todo += [o.node for o in module.values.origins(e) if isinstance(o.node, ast.expr)]
            case ast.Subscript(value=value) | ast.UnaryOp(operand=value) | ast.Starred(value=value):
                todo.append(value)
            case ast.BinOp(left=left, right=right):
                todo += [left, right]
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                todo += parts
    return False


def _is_model(module: Module, e: ast.expr) -> bool:
    made = module.values.calls(e)
    names = [module.names.of(c.func) or "" for c in made]
    return any(MODEL in module.values.made_by(c) for c in made) or any(
        ".applications." in name for name in names
    )


__all__ = ["INPUTS", "is_symbolic"]
