"""The part of HVD202 that is about searches for hyperparameters and networks: each rank would try others."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import CALLABLES, arguments
from horovodize.restrictions.context import Context

_WHY = (
    "each rank would try other hyperparameters here, and the models of the ranks would not fit together; search in one "
    "process, and distribute the training with what it finds"
)
# Methods that search for models by themselves, and the packages of their objects.
_OF_MODELS = {"search": ("keras_tuner.", "kerastuner."), "fit": ("autokeras.",)}
# What is handed a function that it calls with what it tries: functions, and methods of objects of a package.
_FUNCTIONS = frozenset(
    {
        "hyperopt.fmin", "hyperopt.fmin.fmin", "ray.tune.run", "skopt.dummy_minimize", "skopt.forest_minimize",
        "skopt.gbrt_minimize", "skopt.gp_minimize", "talos.Scan", "wandb.agent",
    }
)  # fmt: skip
_METHODS = {
    "optimize": ("optuna.",),
    "maximize": ("bayes_opt.",),
    "fit": ("ray.tune.",),
}


def find_searches(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """The calls that search where the module trains, each with the reason."""
    for call in context.sites.method_calls(*_OF_MODELS, *_METHODS):
        assert isinstance(call.func, ast.Attribute)
        makers = context.values.calls(call.func.value)
        names = [context.names.of(c.func) or "" for c in makers]
        if any(name.startswith(_OF_MODELS.get(call.func.attr, ())) for name in names):
            yield call, _WHY
        elif any(name.startswith(_METHODS.get(call.func.attr, ())) for name in names):
            if any(_may_train(context, c) for c in (call, *makers)):
                yield call, _WHY
    for call in context.module.calls_of(*_FUNCTIONS):
        if _may_train(context, call):
            yield call, _WHY


def _may_train(context: Context, call: ast.Call) -> bool:
    """Whether a function that a call is handed trains, or may: an objective that can't be seen."""
    for given in arguments(call):
        for origin in context.values.origins(given):
            made = context.values.callee(origin.node) if isinstance(origin.node, ast.Call) else None
            if isinstance(origin.node, CALLABLES):
                if any(_trains(context, n) for n in ast.walk(origin.node)):
                    return True
            elif isinstance(made, ast.ClassDef):  # an object that is called
                if any(_trains(context, n) for n in ast.walk(made)):
                    return True
    return False


def _trains(context: Context, node: ast.AST) -> bool:
    if node in context.training_sites or node in context.training_functions:
        return True
    return isinstance(node, ast.Call) and context.values.callee(node) in context.training_functions


__all__ = ["find_searches"]
