"""Calls that fail on all ranks alike if they are given the same: what parses a line of text, not what opens a file."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS
from horovodize.source.nodes import walk

_BUILTINS = {"int", "float", "str", "len", "min", "max", "sum", "range", "list", "tuple", "dict", "set", "print", "abs",
             "round", "isinstance", "getattr", "hasattr", "sorted", "zip", "enumerate", "next", "iter", "bool", "input", "map",
             "ord", "chr"}  # fmt: skip
_BELOW = (
    "tensorflow.config.",
    "tensorflow.compat.v1.enable",
    "tensorflow.compat.v1.disable",
    "sys.",
    "argparse.",
    "math.",
    "re.",
    "json.loads",
    "numpy.array",
    "numpy.asarray",
    "numpy.float",
)
# Of texts, lists and dictionaries; nothing else has methods of these names that reads or writes files.
_METHODS = frozenset(
    "strip lstrip rstrip split rsplit splitlines partition rpartition lower upper startswith endswith encode decode isdigit "
    "append extend setdefault".split()
)
_DEPTH = 3


def fails_alike(module: Module, call: ast.Call, depth: int = _DEPTH) -> bool:
    """Whether a call fails on all ranks or on none, given the same: also of a function of the program that calls only such."""
    if (
        isinstance(call.func, ast.Name)
        and call.func.id in _BUILTINS
        and not module.scopes.reaching(call.func)
    ):
        return True
    function = module.values.callee(call)
    if isinstance(function, FUNCTIONS):
        inner = [n for n in walk(function) if isinstance(n, ast.Call)]
        return depth > 0 and all(fails_alike(module, c, depth - 1) for c in inner)
    name = module.names.of(call.func)
    if name is not None:
        return name.startswith(_BELOW)
    return function is None and isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS


__all__ = ["fails_alike"]
