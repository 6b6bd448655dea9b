"""The rates that the function of a `LearningRateScheduler` gives (HVD310, HVD333)."""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS, argument
from horovodize.restrictions.context import Context

SCHEDULER = "tensorflow.keras.callbacks.LearningRateScheduler"


def given_rates(context: Context, scheduler: ast.Call) -> list[ast.expr]:
    """The rates that the function of a `LearningRateScheduler` gives."""
    schedule = argument(scheduler, "schedule", 0)
    origins = context.values.origins(schedule) if schedule is not None else []
    if len(origins) != 1 or origins[0].path:
        return []
    function: ast.AST | None = origins[0].node
    if isinstance(function, ast.Lambda):
        return [function.body]
    if isinstance(function, ast.Call) and isinstance(
        owner := context.values.callee(function), ast.ClassDef
    ):  # an object that is called as a function
        methods = list(context.values.definitions.methods_of("__call__", frozenset([owner])))
        function = methods[0] if len(methods) == 1 else None
    return list(context.values.returned(function)) if isinstance(function, FUNCTIONS) else []
