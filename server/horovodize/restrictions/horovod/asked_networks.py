"""Networks that a loss asks, that are never trained, and whose weights each rank draws for itself (a part of HVD306).

hvd.broadcast_variables(student.variables, root_rank=0)
...
loss = tf.reduce_mean((student(x) - teacher(x)) ** 2)  # another teacher on each rank"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.same_start import WEIGHTED
from horovodize.restrictions.horovod.sent_weights import (
    HANDED,
    inside_functions,
    made_by,
    sent_models,
    trained_models,
)
from horovodize.summary.sites import MODEL

_FAR = 2000  # nodes that a loss is made of
_BEHIND = 200
_WITH_WEIGHTS = "tensorflow.keras.applications."  # that are read from a file, unless `weights=None`
_ASKED = ("predict", "predict_on_batch", "call", "summary", "build", "count_params", "trainable", "compile")


def asked_and_not_sent(context: Context) -> Iterator[tuple[ast.Call, ast.expr, ast.Call]]:
    """The calls of such networks, each network once, and a broadcast of another one's weights."""
    sends = context.facts.horovod.calls("broadcast_variables")
    if not sends or context.facts.horovod.calls(*HANDED):
        return
    sent = sent_models(context, sends)
    if not sent:
        return
    trained = {
        c for u in context.sites.updates for m in trained_models(context, u) for c in made_by(context, m)
    }
    known = sent | trained
    parts = set(context.values.depends([*known], _BEHIND)) - inside_functions(context, known)
    targets = [argument(g, "target", 0) for u in context.sites.updates for g in u.gradients]
    told = set[ast.AST]()
    for n in context.values.depends([t for t in targets if t is not None], _FAR):
        if not isinstance(n, ast.Call) or not isinstance(n.func, (ast.Name, ast.Attribute)):
            continue
        made = made_by(context, n.func)
        if len(made) != 1 or made[0] in known | parts | told or not _draws_weights(context, made[0]):
            continue
        if known & set(context.values.depends(made, _BEHIND)) or not _is_only_asked(context, n.func):
            continue
        told.add(made[0])
        yield n, n.func, sends[0]


def _draws_weights(context: Context, made: ast.Call) -> bool:
    """Whether a call makes a model of Keras, with weights that are drawn."""
    name = context.names.of(made.func) or ""
    if name.startswith(_WITH_WEIGHTS):
        weights = argument(made, "weights")
        return isinstance(weights, ast.Constant) and weights.value is None
    if MODEL not in context.values.class_names(made):
        return False
    maker = context.values.callee(made)  # a function or a class of the script
    nodes = {*context.values.depends([made], _BEHIND), *(ast.walk(maker) if maker is not None else ())}
    return any(isinstance(n, ast.Call) and context.names.last(n.func) in WEIGHTED for n in nodes)


def _is_only_asked(context: Context, model: ast.Name | ast.Attribute) -> bool:
    """Whether a script does nothing with a network that may give it weights: it calls it, and that is all."""
    parent = context.syntax.parent
    for read in context.module.loads.get(model.id if isinstance(model, ast.Name) else model.attr):
        around = parent.get(read)
        if isinstance(around, ast.Call) and around.func is read:
            continue
        if not isinstance(around, ast.Attribute) or around.attr not in _ASKED:
            return False
    return True


__all__ = ["asked_and_not_sent"]
