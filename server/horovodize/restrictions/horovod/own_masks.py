"""Masks and other arrays that are drawn once, and that a layer computes with ever after (a part of HVD333).

    self.mask = tf.constant(np.random.rand(n), tf.float32)  # in the constructor of a layer
    return inputs * self.mask  # in its `call`

No broadcast sends them: they are no variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving import OwnAnswers
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument
from horovodize.restrictions.context import Context

_LAYERS = ("tensorflow.keras.layers.Layer", "tensorflow.keras.Model", "tensorflow.keras.models.Model")
_LAMBDA = "tensorflow.keras.layers.Lambda"
# How the names begin of what draws.
_DRAWING = tuple(
    "rand normal uniform choice integers permut binomial standard truncated sample shuffle bernoulli stateless "
    "poisson categorical rvs gauss beta exponential laplace".split()
)
_FORMS = ("astype", "reshape")
_WRAPPERS = (
    "tensorflow.constant",
    "tensorflow.convert_to_tensor",
    "tensorflow.cast",
    "numpy.array",
    "numpy.float32",
)


def own_masks(context: Context, answers: OwnAnswers) -> Iterator[tuple[ast.Call, str]]:
    """The draws, and how what they give is called."""
    told = set[ast.AST]()
    once = context.module.calls_which(_may_be_drawn_once)
    computed = context.module.which(_goes_by_a_name, ast.BinOp) if once else []
    forwards = set(_forward(context)) if computed else set[ast.AST]()
    for n in (side for e in computed for side in (e.left, e.right)):
        if not isinstance(n, (ast.Name, ast.Attribute)):
            continue
        around = (a for a in context.syntax.ancestors(n) if isinstance(a, CALLABLES))
        forward = next(around, None)
        if forward is None or forward not in forwards:
            continue
        draw = _drawn_before(context, n, forward)
        if draw is not None and draw not in told and answers.is_drawn(draw):
            told.add(draw)
            yield draw, context.text(n)


def _may_be_drawn_once(module: Module, call: ast.Call) -> bool:
    """Whether a call may draw, outside of all functions or where a layer is made. Asked first: most scripts have none."""
    func = call.func
    last = func.attr if isinstance(func, ast.Attribute) else module.names.last(func)
    if not last.startswith(_DRAWING):
        return False
    function = module.syntax.function(call)
    return function is None or getattr(function, "name", "") in ("__init__", "build")


def _goes_by_a_name(module: Module, e: ast.BinOp) -> bool:
    """Whether something is computed with what has a name, in a method that a layer computes by, or in a `lambda`."""
    if not any(isinstance(side, (ast.Name, ast.Attribute)) for side in (e.left, e.right)):
        return False
    around = next((a for a in module.syntax.ancestors(e) if isinstance(a, CALLABLES)), None)
    return isinstance(around, ast.Lambda) or (isinstance(around, FUNCTIONS) and around.name == "call")


def _forward(context: Context) -> Iterator[ast.AST]:
    """The functions by which the script's own layers compute."""
    for cls in context.values.definitions.classes():
        if context.values.ancestors(cls) & set(_LAYERS):
            yield from (s for s in cls.body if isinstance(s, FUNCTIONS) and s.name == "call")
    for call in context.module.calls_of(_LAMBDA):
        given = argument(call, "function", 0)
        origins = context.values.origins(given) if given is not None else ()
        yield from (o.node for o in origins if isinstance(o.node, CALLABLES) and not o.path)


def _drawn_before(context: Context, read: ast.Name | ast.Attribute, forward: ast.AST) -> ast.Call | None:
    """The call that gives a name its only value, once, before the layer computes."""
    bound = context.values.bindings(read)
    if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path:
        return None
    value = bound[0].value
    while True:
        match value:
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _FORMS:
                value = inner
            case ast.Call(args=[inner, *_]) if context.names.of(value.func) in _WRAPPERS:
                value = inner
            case ast.Compare(left=inner):
                value = inner
            case _:
                break
    if not isinstance(value, ast.Call) or not context.facts.uniform.draws.draws(value):
        return None
    in_turns = any(frame.loops for way in context.drive.ways(value) for frame in way)
    return None if in_turns or context.syntax.inside(value, forward) else value


__all__ = ["own_masks"]
