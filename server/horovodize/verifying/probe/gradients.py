"""Steps with other gradients than a script computes, to see what follows from them.

untrained  zeros: what a script decides by how well it trains, such as how long it goes on, and its rate
rounded    those of the script, rounded otherwise: how far the weights end from where they would, only because sums are made in
           another order
headless   zeros in the first step: how far the weights end from where they would, by one step"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def changed(how: str) -> None:
    """Has every optimizer apply other gradients than it is given."""
    import tensorflow as tf

    from horovodize_hooks import kinds

    change = {"untrained": _nothing, "rounded": _rounded, "headless": _after_the_first}[how]

    def other(optimizer: Any, gradient: Any) -> Any:
        if isinstance(gradient, tf.IndexedSlices):
            values = change(optimizer, gradient.values)
            return tf.IndexedSlices(values, gradient.indices, dense_shape=gradient.dense_shape)
        return None if gradient is None else change(optimizer, tf.convert_to_tensor(gradient))

    def by_pairs(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = [(other(optimizer, gradient), variable) for gradient, variable in grads_and_vars]
            return original(optimizer, pairs, *args, **kwargs)

        return apply_gradients

    def by_lists(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            return original(optimizer, [other(optimizer, one) for one in grads], trainable_variables)

        return apply

    for cls in kinds.BY_PAIRS:
        cls.apply_gradients = by_pairs(cls.apply_gradients)
    for cls in kinds.BY_LISTS:
        cls.apply = by_lists(cls.apply)


def _nothing(optimizer: Any, gradient: Any) -> Any:
    """Zeros that are computed from the gradient: of plain ones a graph would leave out what averages it over the ranks, and a
    rank that looks at an average besides, in a summary, would wait for the others alone."""
    import tensorflow as tf

    return tf.cast(tf.abs(gradient) < 0, gradient.dtype)


def _rounded(optimizer: Any, gradient: Any) -> Any:
    """What is no zero is off by a rounding of the largest, up and down in turns: so large is the last digit of a sum over rows
    that almost cancel."""
    import tensorflow as tf

    digit = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
    turns = tf.cast(1 - 2 * (tf.range(tf.size(gradient)) % 2), gradient.dtype)
    off = tf.reshape(turns, tf.shape(gradient)) * tf.sign(tf.abs(gradient))
    most = tf.reduce_max(tf.abs(gradient)) if gradient.shape.num_elements() != 0 else 0
    return gradient + off * most * digit[gradient.dtype.name]


def _after_the_first(optimizer: Any, gradient: Any) -> Any:
    import tensorflow as tf

    taken = getattr(optimizer, "iterations", None)
    return gradient if taken is None else gradient * tf.cast(tf.convert_to_tensor(taken) > 0, gradient.dtype)
