"""What stands for a tensor while a model is put together (`Input(…)`, and what layers make of it) and is given to a function
that takes tensors only: for HVD902. Keras 2 made layers of such calls. Tried with TensorFlow 2.21 and Keras 3.15."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context

_INPUTS = ("tensorflow.keras.Input", "tensorflow.keras.layers.Input")
_LAYER, _MODEL = "tensorflow.keras.layers.Layer", "tensorflow.keras.Model"
_BACKEND = "tensorflow.keras.backend."
_ONLY_ASK = ("int_shape", "is_keras_tensor", "ndim", "dtype", "print_tensor")
# Functions of TensorFlow that compute: their beginnings, and those that are functions of TensorFlow itself.
_COMPUTING = ("tensorflow.math.", "tensorflow.nn.", "tensorflow.image.", "tensorflow.linalg.")
_ITSELF = frozenset(
    "abs add add_n argmax argmin broadcast_to cast clip_by_value concat convert_to_tensor cos divide einsum exp expand_dims "
    "gather identity matmul maximum minimum multiply norm one_hot ones_like pad pow reduce_max reduce_mean reduce_min "
    "reduce_prod reduce_sum repeat reshape reverse round shape sigmoid sign sin slice split sqrt square squeeze stack "
    "stop_gradient subtract tanh tensordot tile transpose unstack where zeros_like".split()
)
_DEPTH = 12


def symbolic(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Calls of such functions with what a model's `Input` came to. The first of each function is reported."""
    seen: set[str] = set()
    for call in context.syntax.calls:
        name = context.names.of(call.func) or ""
        if name in seen or not _takes_tensors(name):
            continue
        given = [
            part for e in call.args for part in (e.elts if isinstance(e, (ast.List, ast.Tuple)) else [e])
        ]
        given += [k.value for k in call.keywords]
        if any(_is_symbolic(context, e, _DEPTH) for e in given):
            seen.add(name)
            what = name.replace("tensorflow.", "tf.")
            yield (
                call,
                f"can't give what layers make of an `Input` to `{what}`: use `keras.ops`, or put it into a layer",
            )

    for e in context.syntax.every(ast.Attribute):
        if e.attr == "get_shape" and _is_symbolic(context, e.value, _DEPTH):
            yield e, "has no `get_shape` of a model's tensors: `shape` is a tuple"
        elif e.attr == "as_list" and isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            if _is_symbolic(context, e.value.value, _DEPTH):
                yield e, "has no `as_list` of a model's shapes, which are tuples"


def _takes_tensors(name: str) -> bool:
    if name.startswith(_BACKEND):
        return name.removeprefix(_BACKEND) not in _ONLY_ASK
    return (
        name.startswith(_COMPUTING)
        or name.removeprefix("tensorflow.") in _ITSELF
        and name.startswith("tensorflow.")
    )


def _is_symbolic(context: Context, e: ast.expr, depth: int) -> bool:
    """Whether this can only be what an `Input` came to, on all ways by which it got its value."""
    if depth == 0:
        return False
    match e:
        case ast.Name():
            origins = context.values.origins(e)
            return bool(origins) and all(
                isinstance(o.node, ast.expr)
                and not isinstance(o.node, ast.Name)
                and _is_symbolic(context, o.node, depth - 1)
                for o in origins
            )
        case ast.BinOp(left=left, right=right):
            return _is_symbolic(context, left, depth - 1) or _is_symbolic(context, right, depth - 1)
        case ast.Call(func=func, args=[first, *_]):
            if context.names.of(func) in _INPUTS:
                return True
            if not context.values.class_names(func) & {_LAYER, _MODEL}:
                return False
            parts = first.elts if isinstance(first, (ast.List, ast.Tuple)) else [first]
            return any(_is_symbolic(context, part, depth - 1) for part in parts)
        case ast.Call(func=func):
            return context.names.of(func) in _INPUTS
    return False
