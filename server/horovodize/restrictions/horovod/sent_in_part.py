"""Models of whose weights all broadcasts send a part alone: those of one layer (HVD306)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.sent_by_helpers import handed
from horovodize.restrictions.horovod.sent_weights import HANDED, is_optimizer, trained_models
from horovodize.summary.site_kinds import Update

_SENDS = "broadcast_variables"
# What else sends weights: values that `broadcast_object` gives are put into weights by what bears another name.
_OTHERS = ("broadcast_parameters", "broadcast_optimizer_state")


def sent_in_part(context: Context) -> Iterator[tuple[Update, ast.expr, ast.Call]]:
    """Updates of a model that no broadcast sends as a whole, the model, and a broadcast. Only where what is sent is written out
    at each of them, and nothing is kept from training (`layer.trainable = False`)."""
    use = context.facts.horovod
    sends = use.calls(_SENDS)
    if not sends or use.calls(*HANDED, *_OTHERS) or context.module.loads.get("trainable"):
        return
    if any(isinstance(t, ast.Attribute) and t.attr == "trainable" for t in _set(context)):
        return
    each = [argument(call, "variables", 0) for call in sends]
    sent = [e for v in each for e in ((handed(context, v) or [v]) if v is not None else [v])]
    parts = {text for e in sent if e is not None and (text := _part_of(context, e)) is not None}
    whole = [
        e for e in sent if e is None or (_part_of(context, e) is None and not _is_of_optimizer(context, e))
    ]
    if whole or len(parts) != sum(1 for e in sent if e is not None and _part_of(context, e) is not None):
        return  # several parts may be all of it
    for update in context.sites.updates:
        models = trained_models(context, update)
        if len(models) == 1 and parts == {context.text(models[0])}:
            yield update, models[0], sends[0]
            return


def _set(context: Context) -> Iterator[ast.expr]:
    for s in context.syntax.every(ast.Assign):
        if isinstance(s, ast.Assign):
            yield from s.targets


def _part_of(context: Context, given: ast.expr) -> str | None:
    """How the model is written of which this is surely not all: `model.layers[-1].variables`, `model.variables[:2]`."""
    match given:
        case ast.Attribute(
            value=ast.Subscript(value=ast.Attribute(value=model, attr="layers"), slice=at), attr=attr
        ) if attr in OF_MODEL and _is_written(at):
            return context.text(model)
        case ast.Attribute(value=ast.Call(func=ast.Attribute(value=model, attr="get_layer")), attr=attr) if (
            attr in OF_MODEL
        ):
            return context.text(model)
        case ast.Subscript(
            value=ast.Attribute(value=model, attr=attr), slice=ast.Slice(lower=lower, upper=upper, step=None)
        ) if attr in OF_MODEL and any(e is not None and _is_written(e) for e in (lower, upper)):
            return context.text(model)
    return None


def _is_written(at: ast.expr) -> bool:
    return isinstance(at, ast.Constant) or (
        isinstance(at, ast.UnaryOp) and isinstance(at.operand, ast.Constant)
    )


def _is_of_optimizer(context: Context, given: ast.expr) -> bool:
    """`optimizer.variables()`, or `optimizer.variables`."""
    asked = given.func if isinstance(given, ast.Call) and not given.args else given
    return isinstance(asked, ast.Attribute) and asked.attr in OF_MODEL and is_optimizer(context, asked.value)
