"""Calls that hand on what an iterable gives: bars, counts, iterators."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.summary.dataset_methods import BARS, LOOKED_THROUGH


def looked_through(module: Module, call: ast.Call) -> bool:
    """Whether a call only wraps an iterable: `enumerate(x)`, `tqdm(x, total=n)`, `iter(x)`; not `iter(queue.get, None)`, which
    calls a function for each item."""
    named = isinstance(call.func, (ast.Name, ast.Attribute)) and (
        module.names.last(call.func) in LOOKED_THROUGH or module.names.of(call.func) in BARS
    )
    calls = named and module.names.last(call.func) == "iter" and len(call.args) == 2
    return named and not calls and bool(call.args) and module.values.callee(call) is None


__all__ = ["looked_through"]
