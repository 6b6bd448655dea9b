"""TensorFlow's canned Estimators (`DNNClassifier`, …), and the optimizers that they take if they are given none."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.sites import Sites

_DEEP = ("optimizer",)
_WIDE_AND_DEEP = ("linear_optimizer", "dnn_optimizer")
# Estimators whose optimizer is an argument, with the names of those arguments.
CANNED = {
    "DNNClassifier": _DEEP,
    "DNNEstimator": _DEEP,
    "DNNRegressor": _DEEP,
    "LinearClassifier": _DEEP,
    "LinearEstimator": _DEEP,
    "LinearRegressor": _DEEP,
    "DNNLinearCombinedClassifier": _WIDE_AND_DEEP,
    "DNNLinearCombinedEstimator": _WIDE_AND_DEEP,
    "DNNLinearCombinedRegressor": _WIDE_AND_DEEP,
}
# What names stand for: classes of `tf.train`.
_NAMED = {
    "Adagrad": "AdagradOptimizer",
    "Adam": "AdamOptimizer",
    "Ftrl": "FtrlOptimizer",
    "RMSProp": "RMSPropOptimizer",
    "SGD": "GradientDescentOptimizer",
}


@dataclass(frozen=True)
class Standard:
    """What an optimizer is made with whose name is given, or none: `Standard("AdagradOptimizer", 0.05)`.

    cls   a class of `tf.train`
    rate  its learning rate"""

    cls: str
    rate: float


def standard_optimizer(module: Module, sites: Sites, call: ast.Call, parameter: str) -> Standard | None:
    """What one of TensorFlow 1's canned Estimators makes for a parameter that it isn't given, or is given a name for. None
    where it gets an optimizer, and where it may be one of TensorFlow 2's, which take those of Keras."""
    if not (sites.is_tf1 or _is_old(module, call.func)) or any(k.arg is None for k in call.keywords):
        return None
    given = argument(call, parameter)
    of_linear = parameter == "linear_optimizer" or module.names.last(call.func).startswith("Linear")
    named = _NAMED.get("Ftrl" if of_linear else "Adagrad") if given is None else _by_name(module, given)
    return Standard(named, _rate(parameter, of_linear)) if named is not None else None


def _is_old(module: Module, cls: ast.expr) -> bool:
    """Whether a class is that of TensorFlow 1: `tf.compat.v1.estimator.DNNClassifier`."""
    written = module.names.written(cls) if isinstance(cls, (ast.Name, ast.Attribute)) else None
    return (written or "").startswith("tensorflow.compat.v1.")


def _by_name(module: Module, given: ast.expr) -> str | None:
    found = {o.node.value if isinstance(o.node, ast.Constant) else None for o in module.values.origins(given)}
    return _NAMED.get(str(found.pop())) if len(found) == 1 else None


def _rate(parameter: str, of_linear: bool) -> float:
    """From `tensorflow_estimator/python/estimator/canned`. (Of more than 40,000 columns, a `linear_optimizer`'s is less.)"""
    if parameter == "optimizer":
        return 0.2 if of_linear else 0.05
    return 0.005 if of_linear else 0.001


__all__ = ["CANNED", "Standard", "standard_optimizer"]
