"""Masks and other arrays that are drawn once, and that a layer computes with ever after (a part of HVD333).

    self.mask = tf.constant(np.random.rand(n), tf.float32)  # in the constructor of a layer
    return inputs * self.mask  # in its `call`

No broadcast sends them: they are no variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving import OwnAnswers
from horovodize.restrictions.context import Context
from horovodize.summary.syntax import CALLABLES, FUNCTIONS, argument

_LAYERS = ("tensorflow.keras.layers.Layer", "tensorflow.keras.Model", "tensorflow.keras.models.Model")
_LAMBDA = "tensorflow.keras.layers.Lambda"
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
    for forward in _forward(context):
        for n in ast.walk(forward):
            if not isinstance(n, (ast.Name, ast.Attribute)) or not isinstance(n.ctx, ast.Load):
                continue
            if not isinstance(context.syntax.parent.get(n), ast.BinOp):
                continue
            draw = _drawn_before(context, n, forward)
            if draw is not None and draw not in told and answers.is_drawn(draw):
                told.add(draw)
                yield draw, context.text(n)


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
