"""Steps that change nothing, to see what a script decides by how well it trains: how long it goes on, and its rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def forget_gradients() -> None:
    """Has every optimizer apply zeros in place of the gradients it is given."""
    import tensorflow as tf
    from keras.src.optimizers import optimizer as keras_optimizer
    from keras.src.optimizers.legacy import optimizer_v2
    from tensorflow.python.training import optimizer as v1_optimizer

    def nothing(gradient: Any) -> Any:
        if isinstance(gradient, tf.IndexedSlices):
            return tf.IndexedSlices(
                tf.zeros_like(gradient.values), gradient.indices, dense_shape=gradient.dense_shape
            )
        return None if gradient is None else tf.zeros_like(gradient)

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = [(nothing(gradient), variable) for gradient, variable in grads_and_vars]
            return original(optimizer, pairs, *args, **kwargs)

        return apply_gradients

    for cls in (keras_optimizer.Optimizer, optimizer_v2.OptimizerV2, v1_optimizer.Optimizer):
        cls.apply_gradients = around(cls.apply_gradients)
