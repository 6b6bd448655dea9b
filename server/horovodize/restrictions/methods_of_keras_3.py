"""Methods and settings that Keras 2 had and Keras 3 doesn't: for HVD902. Each was tried with TensorFlow 2.15 and Keras 2, and
with TensorFlow 2.21 and Keras 3.15."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument
from horovodize.restrictions.arguments_of_keras_3 import is_keras_own
from horovodize.restrictions.context import Context

_MODEL, _LAYER = "tensorflow.keras.Model", "tensorflow.keras.layers.Layer"
_SCALED = "tensorflow.keras.mixed_precision.LossScaleOptimizer"
_CALLBACK = "tensorflow.keras.callbacks.Callback"
_SET_VALUE = "tensorflow.keras.backend.set_value"
_METHODS: dict[str, tuple[str, str]] = {
    "evaluate_generator": (_MODEL, "has no `evaluate_generator`: `evaluate` takes generators"),
    "predict_generator": (_MODEL, "has no `predict_generator`: `predict` takes generators"),
    "predict_classes": (_MODEL, "has no `predict_classes`: take the largest of what `predict` gives"),
    "predict_proba": (_MODEL, "has no `predict_proba`: it is `predict`"),
    "reset_states": (
        _MODEL,
        "has no `reset_states` of models: call `reset_states` of the layers that have it",
    ),
    "add_metric": (_LAYER, "has no `add_metric`: give `compile` metrics, or keep one in the layer"),
    "get_scaled_loss": (_SCALED, "has no `get_scaled_loss`: it is `scale_loss`"),
    "get_unscaled_gradients": (
        _SCALED,
        "has no `get_unscaled_gradients`: `apply_gradients` divides them itself",
    ),
}


def methods(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Calls of methods that Keras 3 doesn't have, and of a function that sets what it can't set there."""
    for name, (owner, what) in _METHODS.items():
        for call in context.sites.method_calls(name):
            owners = (owner, _MODEL) if owner == _LAYER else (owner,)
            if any(is_keras_own(context, call, one) for one in owners):
                yield call, what
    for call in context.module.calls_of(_SET_VALUE):
        rate = argument(call, "x", 0)
        is_rate = isinstance(rate, ast.Attribute) and rate.attr == "learning_rate"
        written = (
            context.names.written(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
        )
        if is_rate and (written or "").startswith("tensorflow."):
            yield call, "can't set its variables by `set_value`: assign to `optimizer.learning_rate`"
    yield from _set_models(context)


def _set_models(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """`self.model = model` in a callback: Keras sets it, and only Keras can."""
    for statement in context.syntax.every(ast.Assign):
        for target in statement.targets:
            is_model = isinstance(target, ast.Attribute) and ast.unparse(target) == "self.model"
            around = context.syntax.method_class(context.syntax.function(statement)) if is_model else None
            if (
                around is not None
                and _CALLBACK in context.values.ancestors(around)
                and not _keeps_own(around)
            ):
                yield statement, "sets the `model` of a callback itself, and lets nobody else: leave this out"


def _keeps_own(cls: ast.ClassDef) -> bool:
    """Whether a class has a property `model` of its own."""
    return any(isinstance(n, ast.FunctionDef) and n.name == "model" for n in cls.body)
