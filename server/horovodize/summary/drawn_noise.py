"""Functions of a program that give noise, `def sample_z(n): return np.random.uniform(-1, 1, (n, 100))`: no rows of its data."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS

_OF_NUMPY = ("normal", "rand", "randn", "random", "random_sample", "standard_normal", "uniform")
_OF_TENSORFLOW = ("normal", "truncated_normal", "uniform")
_NOISE = frozenset(
    [f"numpy.random.{name}" for name in _OF_NUMPY]
    + [f"tensorflow.random.{name}" for name in _OF_TENSORFLOW]
    + [f"tensorflow.compat.v1.random_{name}" for name in ("normal", "uniform")]
)
_AROUND = ("loc", "scale", "low", "high", "mean", "stddev", "minval", "maxval")
_NUMBERS = (ast.Constant, ast.UnaryOp, ast.unaryop)
_CONVERTING = ("astype", "reshape")


def gives_noise(module: Module, call: ast.Call) -> bool:
    """Whether a call runs a function of the program all of whose results are noise: numbers that are drawn, with nothing that
    is selected by them."""
    callee = module.values.callee(call)
    returned = module.values.returned(callee) if isinstance(callee, FUNCTIONS) else []
    made = [(o.node, o.path) for value in returned for o in module.values.origins(value)]
    return bool(made) and all(not path and _is_noise(module, node) for node, path in made)


def _is_noise(module: Module, node: ast.AST) -> bool:
    while (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CONVERTING
    ):
        node = node.func.value
    if not isinstance(node, ast.Call) or module.names.of(node.func) not in _NOISE:
        return False
    name = module.names.of(node.func) or ""
    first = 0 if name in ("numpy.random.normal", "numpy.random.uniform") else 1
    around = node.args[first : first + 2] if name.startswith("tensorflow.") or first == 0 else []
    around += [k.value for k in node.keywords if k.arg in _AROUND]
    return all(
        isinstance(n, _NUMBERS) for e in around for n in ast.walk(e)
    )  # not around rows: `normal(x[i], 1)`


__all__ = ["gives_noise"]
