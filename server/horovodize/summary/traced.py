"""Code that TensorFlow traces into graphs.

An operation that only one rank adds to a graph changes the names of those after it there. Horovod matches the gradients of
the ranks by such names: with different ones every rank waits for the others forever. (Measured: `if hvd.rank() == 0:
tf.print(w * x)` in a training step stalls, `tf.print(loss)` does not.)
"""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, arguments
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive
from horovodize.summary.sites import MODEL, Sites

_TRACED_METHODS = {
    "call",
    "train_step",
    "test_step",
    "predict_step",
    "compute_loss",
    "__call__",
    "update_state",
    "result",
}
_TRACED_CLASSES = {
    MODEL,
    "tensorflow.keras.layers.Layer",
    "tensorflow.keras.losses.Loss",
    "tensorflow.keras.metrics.Metric",
}


def traced_functions(module: Module, sites: Sites, drive: Drive) -> set[ast.AST]:
    """Functions that TensorFlow may trace: decorated ones, methods of Keras classes, losses and metrics given to `compile`,
    and all that these call."""
    m = module
    found: set[ast.AST] = set(drive.traced)
    for function in m.syntax.functions:
        owner = m.syntax.method_class(function)
        if (
            owner is not None
            and function.name in _TRACED_METHODS
            and _TRACED_CLASSES & m.values.ancestors(owner)
        ):
            found.add(function)
    for compile_ in sites.compiles:
        for given in arguments(compile_.call):
            for e in walk(given):
                if isinstance(e, (ast.Name, ast.Attribute)):
                    found |= {o.node for o in m.values.origins(e) if isinstance(o.node, FUNCTIONS)}
    todo = list(found)
    while todo:
        for n in walk(todo.pop()):
            callee = m.values.callee(n) if isinstance(n, ast.Call) else None
            if isinstance(callee, FUNCTIONS) and callee not in found:
                found.add(callee)
                todo.append(callee)
    return found


def makes_operations(statement: ast.Expr) -> list[ast.expr]:
    """The arguments of a call that may add operations to a graph."""
    call = statement.value
    assert isinstance(call, ast.Call)
    return [a for a in arguments(call) if not _plain(a)]


def _plain(e: ast.expr) -> bool:
    """Whether evaluating an expression surely adds nothing to a graph."""
    if isinstance(e, ast.JoinedStr):
        return all(_plain(v.value) for v in e.values if isinstance(v, ast.FormattedValue))
    if isinstance(e, (ast.Tuple, ast.List)):
        return all(_plain(x) for x in e.elts)
    while isinstance(e, ast.Attribute):
        e = e.value
    return isinstance(e, (ast.Name, ast.Constant))
