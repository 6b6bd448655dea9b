"""Broadcasts of models that have no weights yet (a part of HVD306)."""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS, position
from horovodize.restrictions.context import Context
from horovodize.summary.sites import MODEL

_BUILD = ("self", "build", "call", "add_weight", "Variable", "Input", "load_weights", "Sequential", "Model")


def is_used_between(context: Context, model: ast.Name, made: ast.stmt) -> bool:
    """Whether something does anything with a model between where it is made and a place, so that it may be called there; also a
    function that is run between, not one that only stands there."""
    around = context.syntax.function(model)
    frames = (f for n in context.module.loads.get(model.id) for way in context.drive.ways(n) for f in way)
    places = (
        position(f.node) for f in frames if f.function is around and isinstance(f.node, (ast.expr, ast.stmt))
    )
    return any(position(made) < place < position(model) for place in places)


def makes_weights_late(context: Context, model: ast.expr) -> bool:
    """Whether a model is of a class of the script's own that doesn't call or build itself as it is made, or one of Keras'
    that isn't told what comes in."""
    calls = context.values.calls(model)
    if calls and all(map(context.facts.built.is_late, calls)):
        return True
    owners = [context.values.callee(c) for c in calls]
    if not owners or not all(
        isinstance(o, ast.ClassDef) and MODEL in context.values.ancestors(o) for o in owners
    ):
        return False
    made = [s for o in owners if isinstance(o, ast.ClassDef) for s in o.body if isinstance(s, FUNCTIONS)]
    starts = [f for f in made if f.name in ("__init__", "variables", "weights", "build")]
    return not any(
        context.names.last(n.func) in _BUILD for f in starts for n in ast.walk(f) if isinstance(n, ast.Call)
    )
