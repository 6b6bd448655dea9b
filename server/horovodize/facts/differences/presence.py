"""Whether a value is anything but None, `if best is not None`: of what is computed it is the same on all ranks, whatever they
compute."""

from __future__ import annotations

import ast

from horovodize.python.syntax import COMPREHENSIONS

PRESENCE = "is there"  # as a part of a value
NEVER_NONE = (
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, *COMPREHENSIONS,
)  # fmt: skip
BUILT_IN = ("abs", "bool", "float", "int", "len", "round", "str", "sum")
_COMPUTING = (
    "tensorflow.keras.layers.", "tensorflow.keras.ops.", "tensorflow.reduce_", "tensorflow.math.reduce_",
    "numpy.mean", "numpy.average", "numpy.median", "numpy.sum",
)  # fmt: skip
_OF_NUMBERS = ("numpy", "item", "mean", "sum", "max", "min")


def gives_a_number(call: ast.Call, name: str | None) -> bool:
    """Whether a call of a library gives a tensor or a number: `tf.reduce_mean(x)`, `loss.numpy()`."""
    if name is not None:
        return name.startswith(_COMPUTING)
    return isinstance(call.func, ast.Attribute) and not call.args and call.func.attr in _OF_NUMBERS


__all__ = ["BUILT_IN", "NEVER_NONE", "PRESENCE", "gives_a_number"]
