"""By how much a call counts a variable on: `step.assign_add(1)`, or spelt out, `step.assign(step + 1)`."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument

# What gives the same number in another type, by how it is called: with it as an argument, or on it.
_CONVERTING = {"int", "float", "cast", "to_float", "to_int32", "to_int64", "identity", "convert_to_tensor", "get_value",
               "float32", "float64", "int32", "int64", "convert_to_numpy"}  # fmt: skip
_READING = {"numpy", "item", "value", "read_value", "eval", "astype"}


def amount_added(call: ast.Call) -> ast.expr | None:
    """What a method of a variable adds to it; None where it sets it to something else."""
    if not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == "assign_add":
        return argument(call, "delta", 0) or argument(call, "value")  # of Keras 3's
    value = argument(call, "value", 0) if call.func.attr == "assign" else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    kept = ast.unparse(call.func.value)
    sides = ((value.left, value.right), (value.right, value.left))
    return next((amount for own, amount in sides if ast.unparse(unconverted(own)) == kept), None)


def within(called: str, call: ast.Call) -> ast.expr | None:
    """The number that a call gives in another type: of `int(step)` and `step.numpy()` `step`."""
    if called in _CONVERTING and call.args:
        return call.args[0]
    if isinstance(call.func, ast.Attribute) and called in _READING:
        return call.func.value
    return None


def unconverted(e: ast.expr) -> ast.expr:
    """`step` of `int(step.numpy())`, and of Keras 3's `step.value`."""
    while isinstance(e, ast.Call) or (isinstance(e, ast.Attribute) and e.attr == "value"):
        if isinstance(e, ast.Attribute):
            e = e.value
            continue
        func = e.func
        called = (
            func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        )
        inner = within(called, e)
        if inner is None:
            return e
        e = inner
    return e


__all__ = ["amount_added", "unconverted", "within"]
