"""Classes of Keras and of TensorFlow 1, whichever versions these are; and variables as TensorFlow's.

Keras 2 (TensorFlow up to 2.15), legacy Keras (`TF_USE_LEGACY_KERAS=1`: Keras 2 from the package tf_keras), and Keras 3, whose
layers are no `tf.Module` and whose variables hold TensorFlow's."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import tensorflow as tf
from tensorflow.python.training import optimizer as v1_optimizer

KERAS_3 = hasattr(tf.keras, "ops")
Model, Metric, Layer = tf.keras.Model, tf.keras.metrics.Metric, tf.keras.layers.Layer
Optimizer = tf.keras.optimizers.Optimizer
V1Optimizer = v1_optimizer.Optimizer
if KERAS_3:
    KerasVariable = tf.keras.Variable
    OptimizerV2: Any = ()  # `isinstance` of nothing
    LEGACY_OPTIMIZERS: tuple[Any, ...] = ()
    MODELS: tuple[Any, ...] = (Model,)
    # The classes whose steps are made by `apply_gradients(pairs)`, and by `apply(gradients, variables)`. What scales losses has
    # an `apply` of its own, which calls another optimizer's.
    BY_PAIRS: tuple[Any, ...] = (V1Optimizer,)
    BY_LISTS: tuple[Any, ...] = (Optimizer, tf.keras.optimizers.LossScaleOptimizer)
else:
    _package = Model.__module__.partition(".")[0]  # "keras", or "tf_keras"
    OptimizerV2 = import_module(f"{_package}.src.optimizers.legacy.optimizer_v2").OptimizerV2
    LEGACY_OPTIMIZERS = (OptimizerV2,)
    # The second where TensorFlow 1's behaviour is on.
    MODELS = (Model, import_module(f"{_package}.src.engine.training_v1").Model)
    BY_PAIRS = (Optimizer, OptimizerV2, V1Optimizer)
    BY_LISTS = ()


def run_config() -> Any:
    """What Estimators are configured with; None where they are gone."""
    try:
        return import_module("tensorflow_estimator.python.estimator.run_config").RunConfig
    except ImportError:
        return None


def plain(variable: Any) -> Any:
    """TensorFlow's variable in one of Keras 3; any other as it is."""
    return variable.value if KERAS_3 and isinstance(variable, KerasVariable) else variable


def all_plain(variables: Iterable[Any]) -> list[Any]:
    return [plain(variable) for variable in variables]


def is_variable(value: Any) -> bool:
    return isinstance(plain(value), tf.Variable)


def held(thing: Any) -> list[Any]:
    """TensorFlow's variables of a layer, model or module: those of Keras 3 without states of random numbers and of metrics.
    None where it is not built yet."""
    try:
        found = thing.weights if KERAS_3 and isinstance(thing, Layer) else thing.variables
        return all_plain(found)
    except (ValueError, AttributeError):
        return []
