"""Variables that are made after the broadcast that was to send them, and so start with other values on each rank (HVD306)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.syntax import argument, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.sent_weights import HANDED, made_by, trained_models
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Violation

_OPERATION = "broadcast_global_variables"
_SENDS = "broadcast_variables"
# What else sends weights: values that `broadcast_object` gives are put into weights by what bears another name.
_OTHERS = ("broadcast_", "broadcast_parameters")
_LIMIT = 800
# What draws first weights.
_WEIGHTED = frozenset(
    "Dense Conv1D Conv2D Conv3D Conv2DTranspose SeparableConv2D DepthwiseConv2D LSTM GRU Embedding".split()
)
_FUNCTIONS = frozenset(
    "dense conv1d conv2d conv3d conv2d_transpose separable_conv2d fully_connected get_variable".split()
)
_OF_GRAPHS = ("tensorflow.compat.v1.", "tensorflow.contrib.", "tf_slim.")


def of_later(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """Layers that a model gets after it was sent, and models that are made again and sent only once."""
    for layer, model, sent in _layers_after_sending(context):
        yield restriction.at(
            context,
            layer,
            f"`{context.text(model)}` gets this layer after the broadcast, so that its weights are never sent: broadcast them "
            "when the model has all its layers",
            related=[context.related(sent, "broadcast here")],
        )
    for send, model in _sent_in_first_turn(context):
        yield restriction.at(
            context,
            send,
            f"each turn of the loop makes a new `{context.text(model)}`, and only the first is sent: broadcast each of them",
        )


def after_operation(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """Variables of a graph that are made after the operation that sends those that there are."""
    for send, made in _made_after_operation(context):
        yield restriction.at(
            context,
            send,
            "this sends the variables that there are when it is made, and others are made later: make it after all of them",
            related=[context.related(made, "makes variables that are never sent")],
        )


def _made_after_operation(context: Context) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The operations of a graph that broadcast, and what makes a variable of the loss after they are made, which they don't
    send."""
    sends = context.facts.horovod.calls(_OPERATION) if context.sites.builds_graph else []
    others = [name for name in HANDED if name != _OPERATION]
    if not sends or context.facts.horovod.calls(*others, _SENDS, *_OTHERS):
        return
    losses = [argument(c, "loss", 0) for c in context.sites.graph_minimizes]
    losses += [argument(c, "loss", 0) for c in context.sites.method_calls("compute_gradients")]
    behind = context.values.depends([e for e in losses if e is not None], _LIMIT)
    made = [n for n in behind if isinstance(n, ast.Call) and _makes_variable(context, n)]
    late = [m for m in made if all(_is_after(context, m, send) for send in sends)]
    if late:
        yield sends[0], min(late, key=position)


def _makes_variable(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    return name.startswith(_OF_GRAPHS) and name.rsplit(".", 1)[-1] in _FUNCTIONS


def _is_after(context: Context, made: ast.AST, send: ast.Call) -> bool:
    """Whether something stands after a broadcast in the same block, and in no loop."""
    syntax = context.syntax
    one, other = syntax.statement(send), syntax.statement(made)
    block = syntax.block(one)
    if any(isinstance(a, ast.Lambda) for n in (made, send) for a in syntax.ancestors(n)):
        return False
    return other in block and block.index(one) < block.index(other) and not syntax.loops(send)


def _layers_after_sending(context: Context) -> Iterator[tuple[ast.Call, ast.expr, ast.Call]]:
    """Layers that a model gets after all broadcasts of variables, in their block; the model, and a broadcast."""
    sends = context.facts.horovod.calls(_SENDS)
    if not sends or context.facts.horovod.calls(*HANDED, *_OTHERS):
        return
    told = set[str]()
    for update in context.sites.updates:
        for model in trained_models(context, update):
            text = context.text(model)
            if text in told or context.facts.rank_tests.may_be_guarded(update.call):
                continue
            late = [
                layer
                for layer in _layers(context, model)
                if all(_is_after(context, layer, s) for s in sends) and not context.syntax.loops(layer)
            ]
            if late:
                told.add(text)
                yield late[0], model, sends[-1]


def _layers(context: Context, model: ast.expr) -> list[ast.Call]:
    """The layers that draw first weights, of what makes a model and of what is added to it."""
    made = made_by(context, model)
    if len(made) != 1:
        return []
    behind = [n for n in context.values.depends(made, _LIMIT) if isinstance(n, ast.Call)]
    added = [
        e
        for call in context.sites.method_calls("add")
        if isinstance(call.func, ast.Attribute) and made_by(context, call.func.value) == made
        for e in call.args
        if isinstance(e, ast.Call)
    ]
    layers = {*context.module.layers}
    return [c for c in (*behind, *added) if c in layers and context.names.last(c.func) in _WEIGHTED]


def _sent_in_first_turn(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Broadcasts of a model that each turn of a loop makes, under a flag that is set before this loop and taken back with the
    first: models of later turns aren't sent. And the model."""
    sends = context.facts.horovod.calls(_SENDS)
    if len(sends) != 1 or context.facts.horovod.calls(*HANDED, *_OTHERS):
        return
    (send,), syntax = sends, context.syntax
    given = argument(send, "variables", 0)
    model = given.value if isinstance(given, ast.Attribute) and given.attr in OF_MODEL else None
    made = made_by(context, model) if isinstance(model, ast.Name) else []
    if model is None or len(made) != 1 or syntax.function(made[0]) is not syntax.function(send):
        return
    again = [loop for loop in syntax.loops(made[0]) if loop in syntax.loops(send)]
    if not again or not any(model is not None and _trains_in(context, model, loop) for loop in again[:1]):
        return
    for test, arm in syntax.conditions(send):
        asked, answer = _plain(test.test, arm == "body")
        if isinstance(asked, ast.Name) and _is_set_once(context, asked, answer, set(again)):
            yield send, model


def _trains_in(context: Context, model: ast.expr, loop: ast.AST) -> bool:
    """Whether a loop trains the model that it makes."""
    text = context.text(model)
    return any(
        context.syntax.inside(u.call, loop)
        and any(context.text(m) == text for m in trained_models(context, u))
        for u in context.sites.updates
    )


def _is_set_once(context: Context, flag: ast.Name, answer: bool, loops: set[ast.AST]) -> bool:
    """Whether a flag is answered so by what is set before all of some loops alone, and otherwise after it."""
    bound = context.scopes.reaching(flag)
    values = [
        b.value.value if b.kind == "assign" and isinstance(b.value, ast.Constant) else None for b in bound
    ]
    if any(type(v) is not bool for v in values) or answer not in values or (not answer) not in values:
        return False
    inside = [any(context.syntax.inside(b.statement, loop) for loop in loops) for b in bound]
    return all(there is (value is not answer) for value, there in zip(values, inside, strict=True))


def _plain(test: ast.expr, answer: bool) -> tuple[ast.expr, bool]:
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, answer = test.operand, not answer
    return test, answer


__all__ = ["after_operation", "of_later"]
