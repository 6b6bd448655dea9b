"""Decorators of a script's own, which decide whether, and on which ranks, what they are put on is run.

    def rank_0_only(function):
        def inner(*args):
            if hvd.rank() == 0:
                return function(*args)

        return inner

What is decorated with it is called by all ranks, and run by rank 0."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.summary.call_paths import TRACERS


@dataclass(frozen=True, eq=False)
class Wrapper:
    """inner: the function that is called instead of the decorated one; given: the parameter that stands for that"""

    inner: Function
    given: ast.arg


def wrapper_of(module: Module, function: ast.AST) -> Wrapper | None:
    """The decorator of a function, where it can be gone into; below it, others may have the function traced."""
    if not isinstance(function, FUNCTIONS) or not function.decorator_list:
        return None
    decorator, *below = function.decorator_list
    if not all(_traces(module, d) for d in below):
        return None
    origins = module.values.origins(decorator)
    maker = origins[0].node if len(origins) == 1 and not origins[0].path else None
    if not isinstance(maker, FUNCTIONS) or not isinstance(maker.body[-1], ast.Return):
        return None
    inner = [s for s in maker.body if isinstance(s, FUNCTIONS)]
    given, returned = [*maker.args.posonlyargs, *maker.args.args], maker.body[-1].value
    if len(inner) != 1 or len(given) != 1 or not isinstance(returned, ast.Name):
        return None
    return Wrapper(inner[0], given[0]) if returned.id == inner[0].name else None


def _traces(module: Module, decorator: ast.expr) -> bool:
    """`@tf.function`, also with arguments: it runs what it is put on, wherever it is called."""
    made_by = decorator.func if isinstance(decorator, ast.Call) else decorator
    return module.names.of(made_by) in TRACERS


__all__ = ["Wrapper", "wrapper_of"]
