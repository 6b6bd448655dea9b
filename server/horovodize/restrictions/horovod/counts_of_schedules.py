"""What the steps are compared with, or divided by, in a schedule of the script's own (HVD325)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.restrictions.context import Context

_SCHEDULE = "tensorflow.keras.optimizers.schedules.LearningRateSchedule"
_STEPS = (
    "tensorflow.compat.v1.train.get_or_create_global_step",
    "tensorflow.compat.v1.train.get_global_step",
    "tensorflow.compat.v1.train.create_global_step",
)
_SAME_NUMBER = ("cast", "float", "to_float", "float32", "convert_to_tensor", "identity", "int")
_LIMIT = 400


def own_counts(context: Context, rate: ast.expr) -> Iterator[ast.expr]:
    """The numbers of steps by which a rate goes that functions or classes of the script make: `total` of
    `(total - step) / total`, `warmup` of `step < warmup`."""
    functions = dict.fromkeys(_functions(context, rate))
    for function in functions:
        for node in ast.walk(function):
            yield from _met(context, node, function)


def _functions(context: Context, rate: ast.expr) -> Iterator[Function]:
    """The functions that compute a rate from the number of steps."""
    for made in context.values.calls(rate):
        owner = context.values.callee(made)
        if isinstance(owner, ast.ClassDef) and _SCHEDULE in context.values.ancestors(owner):
            yield from context.values.definitions.methods_of("__call__", frozenset([owner]))
    for node in context.values.depends([rate], _LIMIT):
        if isinstance(node, ast.Call) and isinstance(function := context.values.callee(node), FUNCTIONS):
            if any(_is_global_step(context, e) for e in (*node.args, *(k.value for k in node.keywords))):
                yield function


def _met(context: Context, node: ast.AST, function: Function) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, comparators=[right]):
            pairs = [(left, right), (right, left)]
        case ast.BinOp(op=ast.Div() | ast.FloorDiv(), left=left, right=right):
            pairs = [(left, right)]
        case ast.BinOp(op=ast.Sub(), left=left, right=right):
            pairs = [(left, right), (right, left)]
        case ast.BinOp(
            op=ast.Mult(), left=left, right=ast.BinOp(op=ast.Pow(), left=right, right=ast.UnaryOp())
        ):
            pairs = [(left, right)]
        case ast.Call(args=[left, right]) if context.names.last(node.func) in (
            "minimum",
            "maximum",
            "min",
            "max",
        ):
            pairs = [(left, right), (right, left)]
        case _:
            return
    for one, other in pairs:
        if _is_step(context, one, function) and not _is_step(context, other, function):
            yield other


def _is_step(context: Context, e: ast.expr, function: Function, depth: int = 6) -> bool:
    """Whether an expression is the number of steps that a function is given, whatever its type: `tf.cast(step, tf.float32)`."""
    if depth == 0:
        return False
    match e:
        case ast.Call(args=[inner, *_]) if context.names.last(e.func) in _SAME_NUMBER:
            return _is_step(context, inner, function, depth - 1)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):  # `rate * step`
            return _is_step(context, left, function, depth - 1) or _is_step(
                context, right, function, depth - 1
            )
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=ast.Constant()):
            return _is_step(context, left, function, depth - 1)
        case ast.Name():
            return any(_is_bound_to_step(context, e, b, function, depth) for b in context.scopes.reaching(e))
    return _is_global_step(context, e)


def _is_bound_to_step(
    context: Context, name: ast.Name, bound: object, function: Function, depth: int
) -> bool:
    kind, value = getattr(bound, "kind", ""), getattr(bound, "value", None)
    if kind == "parameter":
        arguments = [*function.args.posonlyargs, *function.args.args]
        is_method = context.syntax.method_class(function) is not None
        given = arguments[1:2] if is_method else arguments
        if not any(a.arg == name.id for a in given):
            return False
        return is_method or any(_is_global_step(context, e) for e in context.values.passed(bound))  # type: ignore[arg-type]
    return kind == "assign" and isinstance(value, ast.expr) and _is_step(context, value, function, depth - 1)


def _is_global_step(context: Context, e: ast.expr) -> bool:
    """Whether an expression is the step that a graph counts, or an optimizer's."""
    if isinstance(e, ast.Attribute) and e.attr == "iterations":
        return True
    return any(context.names.of(c.func) in _STEPS for c in context.values.calls(e))
