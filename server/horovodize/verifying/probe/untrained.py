"""Steps that change nothing, to see what a script decides by how well it trains: how long it goes on, and its rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def forget_gradients() -> None:
    """Has every optimizer apply zeros in place of the gradients it is given."""
    import tensorflow as tf

    from horovodize_hooks import kinds

    def nothing(gradient: Any) -> Any:
        if isinstance(gradient, tf.IndexedSlices):
            return tf.IndexedSlices(
                tf.zeros_like(gradient.values), gradient.indices, dense_shape=gradient.dense_shape
            )
        return None if gradient is None else tf.zeros_like(gradient)

    def by_pairs(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = [(nothing(gradient), variable) for gradient, variable in grads_and_vars]
            return original(optimizer, pairs, *args, **kwargs)

        return apply_gradients

    def by_lists(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            return original(optimizer, [nothing(gradient) for gradient in grads], trainable_variables)

        return apply

    for cls in kinds.BY_PAIRS:
        cls.apply_gradients = by_pairs(cls.apply_gradients)
    for cls in kinds.BY_LISTS:
        cls.apply = by_lists(cls.apply)
