"""Numbers that are drawn once, and that losses are made with ever after: the weight of a part of the loss, a projection.

Not rows: a script may well draw those for itself on each rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving import OwnAnswers
from horovodize.python.binding import Binding
from horovodize.python.syntax import argument, arguments
from horovodize.restrictions.context import Context

_FAR = 2000  # nodes that a loss is made of
# What draws one number, if it is given no more than so many arguments.
_OF_PYTHON = frozenset(f"random.{name}" for name in ("random", "uniform", "gauss", "randint", "triangular"))
_OF_NUMPY = {
    "uniform": 2,
    "normal": 2,
    "rand": 0,
    "randn": 0,
    "random": 0,
    "random_sample": 0,
    "exponential": 1,
}
_FORMS = ("astype", "reshape", "numpy")
_PRODUCTS = ("tensorflow.matmul", "tensorflow.tensordot", "numpy.dot", "numpy.matmul")


def own_constants(context: Context, answers: OwnAnswers) -> Iterator[tuple[ast.Call, str]]:
    """The draws, and how what they give is called."""
    targets = [argument(g, "target", 0) for u in context.sites.updates for g in u.gradients]
    targets += [argument(c, "loss", 0) for c in context.sites.graph_minimizes]
    told = set[ast.AST]()
    for n in context.values.depends([t for t in targets if t is not None], _FAR):
        if not isinstance(n, (ast.Name, ast.Attribute)) or not isinstance(n.ctx, ast.Load):
            continue
        draw = _drawn_once(context, n)
        if draw is None or draw in told or not (_is_number(context, draw) or _projects(context, n)):
            continue
        if answers.is_drawn(draw):
            told.add(draw)
            yield draw, context.text(n)


def _drawn_once(context: Context, read: ast.Name | ast.Attribute) -> ast.Call | None:
    """The call that gives a name its only value, in no loop."""
    bound: list[Binding] = context.values.bindings(read)
    if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path:
        return None
    value = bound[0].value
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _FORMS:
        value = value.func.value
    draws = context.facts.uniform.draws
    once = isinstance(value, ast.Call) and draws.draws(value) and not _is_in_turns(context, value)
    return value if isinstance(value, ast.Call) and once else None


def _is_in_turns(context: Context, draw: ast.Call) -> bool:
    """Whether a loop draws again with each of its turns, also by a function: where a game begins, `env.reset()`."""
    return any(frame.loops for way in context.drive.ways(draw) for frame in way)


def _is_number(context: Context, draw: ast.Call) -> bool:
    """Whether a draw gives one number: `np.random.uniform(1.0, 10.0)`, `tf.random.uniform([])`."""
    name, given = context.names.of(draw.func) or "", arguments(draw)
    if name in _OF_PYTHON:
        return True
    module, _, last = name.rpartition(".")
    if module == "numpy.random" and last in _OF_NUMPY:
        return len(given) <= _OF_NUMPY[last] and argument(draw, "size") is None
    shape = argument(draw, "shape", 0) if module == "tensorflow.random" else None
    return isinstance(shape, (ast.List, ast.Tuple)) and not shape.elts


def _projects(context: Context, read: ast.expr) -> bool:
    """Whether rows are multiplied by a matrix: `rows @ frequencies`."""
    around = context.syntax.parent.get(read)
    if isinstance(around, ast.BinOp):
        return isinstance(around.op, ast.MatMult) and around.right is read
    is_product = isinstance(around, ast.Call) and context.names.of(around.func) in _PRODUCTS
    return is_product and isinstance(around, ast.Call) and argument(around, "b", 1) is read


__all__ = ["own_constants"]
