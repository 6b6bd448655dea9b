"""Moving averages that forget by the steps of a rank (a part of HVD325)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context

_AVERAGES = (
    "tensorflow.train.ExponentialMovingAverage",
    "tensorflow.compat.v1.train.ExponentialMovingAverage",
)
_SETTING = ("assign", "set_weights", "append")


def decays(context: Context) -> Iterator[ast.expr]:
    """How much of them averages of weights keep in each step: `0.999` of `slow.assign(0.999 * slow + 0.001 * fast)`."""
    for made in context.module.calls_of(*_AVERAGES):
        if (decay := argument(made, "decay", 0)) is not None:
            yield decay
    for node in context.syntax.every(ast.BinOp):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _sets_a_weight(context, node):
            pair = _shares(node)
            if pair is not None:
                yield pair


def _shares(added: ast.BinOp) -> ast.expr | None:
    """`d` of `d * a + (1 - d) * b`, in any order; also of two numbers that are 1 together."""
    for one in _factors(added.left):
        for other in _factors(added.right):
            if _is_rest(other, one):
                return one
            if _is_rest(one, other):
                return other
            if (
                isinstance(one, ast.Constant)
                and isinstance(other, ast.Constant)
                and _are_one(one.value, other.value)
            ):
                return max((one, other), key=lambda e: float(str(e.value)))
    return None


def _factors(e: ast.expr) -> list[ast.expr]:
    return [e.left, e.right] if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult) else []


def _is_rest(e: ast.expr, of: ast.expr) -> bool:
    """`1 - d`, of `d`"""
    match e:
        case ast.BinOp(op=ast.Sub(), left=ast.Constant(value=1 | 1.0), right=right):
            return ast.dump(right) == ast.dump(of)
    return False


def _are_one(a: object, b: object) -> bool:
    return isinstance(a, float) and isinstance(b, float) and 0 < a < 1 and abs(a + b - 1) < 1e-9


def _sets_a_weight(context: Context, node: ast.BinOp) -> bool:
    """Whether a sum is what a variable is set to, or a network's weights, or is put into a list of these, in a loop or a
    function that one calls."""
    around: ast.AST | None = context.syntax.parent.get(node)
    while isinstance(around, (ast.ListComp, ast.GeneratorExp, ast.List, ast.Tuple, ast.comprehension)):
        around = context.syntax.parent.get(around)
    if not isinstance(around, ast.Call) or context.names.last(around.func) not in _SETTING:
        return False
    texts = {context.text(n) for n in ast.walk(context.syntax.statement(node)) if isinstance(n, ast.expr)}
    if context.names.last(around.func) == "assign":
        holder = around.func.value if isinstance(around.func, ast.Attribute) else None
        inside = {context.text(n) for n in ast.walk(node) if isinstance(n, ast.expr)}
        return holder is not None and context.text(holder) in inside
    loops = context.syntax.loops(node)
    through = {context.text(loop.iter) for loop in loops if isinstance(loop, ast.For)}
    return any("weights" in text or "variables" in text for text in texts | through)
