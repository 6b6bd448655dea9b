"""Generators of random numbers that a program makes for itself: what makes them, and which calls are made of them."""

from __future__ import annotations

import ast

from horovodize.python.module import Module

# What makes a generator, which is given its seed, or none.
MAKERS = (
    "numpy.random.RandomState",
    "numpy.random.default_rng",
    "numpy.random.Generator",
    "random.Random",
    "tensorflow.random.Generator.from_seed",
    "tensorflow.random.Generator.from_non_deterministic_state",
    "random.SystemRandom",
)
# What the names of those have in them that draw a layer's first weights at random.
_RANDOM = ("normal", "uniform", "orthogonal", "variancescaling", "xavier")


def makers(module: Module, call: ast.Call) -> list[ast.Call]:
    """The calls that make the generator that a call is a method of: `default_rng(0)` of `rng.normal()`; none where it is of
    none."""
    if not isinstance(call.func, ast.Attribute) or module.names.of(call.func) is not None:
        return []
    return [made for made in module.values.calls(call.func.value) if module.names.of(made.func) in MAKERS]


def initializers(module: Module, call: ast.Call) -> list[ast.Call]:
    """The calls that make what draws first weights, where a call asks it for some: `he_normal()` of `init([4, 9])`."""
    if module.names.of(call.func) is not None or not isinstance(
        call.func, (ast.Name, ast.Attribute, ast.Call)
    ):
        return []
    return [
        made for made in module.values.calls(call.func) if _draws_weights(module.names.of(made.func) or "")
    ]


def is_of_layer(call: ast.Call) -> bool:
    """`layer.kernel_initializer(shape)`, which is random unless the program says otherwise."""
    return isinstance(call.func, ast.Attribute) and call.func.attr.endswith(
        ("kernel_initializer", "embeddings_initializer")
    )


def _draws_weights(name: str) -> bool:
    of_keras = name.startswith(("tensorflow.keras.initializers.", "tensorflow.initializers."))
    last = name.rpartition(".")[2].lower().replace("_", "")
    return (of_keras or last.endswith("initializer")) and any(word in last for word in _RANDOM)
