"""Generators of random numbers that a program makes for itself: what makes them, and which calls are made of them."""

from __future__ import annotations

import ast

from horovodize.summary.module import Module

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


def makers(module: Module, call: ast.Call) -> list[ast.Call]:
    """The calls that make the generator that a call is a method of: `default_rng(0)` of `rng.normal()`; none where it is of
    none."""
    if not isinstance(call.func, ast.Attribute) or module.names.of(call.func) is not None:
        return []
    return [made for made in module.values.calls(call.func.value) if module.names.of(made.func) in MAKERS]
