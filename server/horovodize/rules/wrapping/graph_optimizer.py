"""S2 optimizer: the optimizer that builds a train op averages its gradients over all ranks.

What it does   `tf.train.AdamOptimizer(rate)` becomes `hvd.DistributedOptimizer(…)` where it is made, in a chain before
               `.minimize(loss)`, too. Every optimizer of the file (GANs have two); its rate is scaled by C5, its decay by C4.
               Gradients that `tf.gradients` computes for `apply_gradients` are averaged where they are computed. What slim's
               `create_train_op` is given is wrapped, too: it computes the gradients by it.
Why            `minimize` and `compute_gradients` of the wrapped optimizer average; unwrapped, every rank trains a model of its
               own.
Before         train_op = tf.train.AdamOptimizer(0.001).minimize(loss)
After          train_op = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.001 * hvd.size())).minimize(loss)
Leaves alone   `scipy.optimize.minimize`. Gradients that feed no optimizer (a penalty on `tf.gradients(d, [x])`).
Refuses        An optimizer that can't be followed to where it is made (HVD105): its rate would stay unscaled. Gradients of
               which it can't be told where they come from (HVD006). What only the unwrapped optimizer has (`opt._lr`).
               Variables that are trained without an optimizer (`w.assign_sub(rate * gradient)`, contrastive divergence).
Asks           A variable that the loss is made with, and that is moved on by the rows of a step: the centers of a center
               loss, the balance of a boundary equilibrium GAN. Each rank would have its own.
Source         Seed 2.5.1, strict form of assignment. Errata: for `id = XOptimizer(rate).minimize(loss)` (65 of 153 real files)
               the seed wraps what `minimize` returns, which is no optimizer. `DistributedOptimizer.apply_gradients` does not
               average; only `compute_gradients` does, which `minimize` calls.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import CORE, Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.scaling import strong
from horovodize.rules.weights import graph_drawn_weights
from horovodize.rules.wrapping import graph_states
from horovodize.rules.wrapping.optimizers import trained_optimizers, wrap
from horovodize.source import Edit

_WHY = "The gradients of all ranks are averaged before they are applied; unwrapped, each rank trains a model of its own."
_GRADIENTS = ("tensorflow.gradients", "tensorflow.compat.v1.gradients")
_PLACEHOLDER = "tensorflow.compat.v1.placeholder"


def apply(draft: Draft) -> None:
    averaged = [c for c in draft.sites.graph_minimizes if not _averages_by_hand(draft, c)]
    built_by = [*averaged, *draft.sites.method_calls("compute_gradients")]
    receivers = {e for c in built_by if (e := draft.sites.optimizer_of(c)) is not None}
    made = {call for receiver in receivers for call in draft.values.calls(receiver)}
    for trained in trained_optimizers(draft):
        if trained.sink != "graph":
            continue
        if trained.outermost is None:
            draft.refuse(
                "HVD105",
                trained.used_at,
                "where this optimizer is made can't be followed, so it can't be wrapped, nor its rate scaled; make "
                "it in this file",
            )
        elif trained.class_name is not None and trained.class_name.startswith("tensorflow.keras."):
            draft.refuse(
                "HVD006",
                trained.origin,
                "this is an optimizer of Keras, which Horovod can't wrap in a graph; take one of `tf.train`",
            )
        elif trained.used_at in receivers or trained.call in made:
            op = strong.operation(draft, strong.sites_of(draft, trained.used_at))
            wrap(draft, "S2", trained.outermost, _WHY, op)
            _refuse_private(draft, trained.outermost)
    if draft.sites.graph.sessions:
        _refuse_by_hand(draft)
        graph_states.apply(draft)
        graph_drawn_weights.ask(draft)


def _refuse_private(draft: Draft, optimizer: ast.Call) -> None:
    """`opt._lr`: Horovod's optimizer passes on public methods only."""
    for n in draft.syntax.nodes:
        if isinstance(n, ast.Attribute) and n.attr.startswith("_") and not n.attr.startswith("__"):
            if isinstance(n.ctx, ast.Load) and optimizer in draft.values.calls(n.value):
                draft.refuse(
                    "HVD006", n, f"Horovod's optimizer has no `{n.attr}`; give its value a name of its own"
                )


def _refuse_by_hand(draft: Draft) -> None:
    """`w.assign_sub(rate * gradient)`, `tf.assign(w, w - rate * gradient)`: nobody averages these."""
    for call in draft.sites.method_calls("assign", "assign_sub", "assign_add"):
        assert isinstance(call.func, ast.Attribute)
        operands = [*call.args] if draft.names.of(call.func) is not None else [call.func.value, *call.args]
        if (
            len(operands) >= 2
            and _is_trainable(draft, operands[0])
            and _descends(draft, call.func.attr, *operands[:2])
        ):
            draft.refuse(
                "HVD006",
                call,
                "this trains a variable without an optimizer, and its gradient would not be averaged; use one of `tf.train`",
            )


def _is_trainable(draft: Draft, variable: ast.expr) -> bool:
    made = draft.values.calls(variable)
    return bool(made) and all(
        draft.names.last(c.func) in ("Variable", "get_variable") and not _is_false(argument(c, "trainable"))
        for c in made
    )


def _is_false(e: ast.expr | None) -> bool:
    return isinstance(e, ast.Constant) and not e.value


def _descends(draft: Draft, method: str, variable: ast.expr, value: ast.expr) -> bool:
    """Whether what a variable is set to comes of a gradient: one that TensorFlow computes, or one computed from a batch."""
    calls = {draft.names.of(n.func) for n in draft.values.depends([value], 400) if isinstance(n, ast.Call)}
    if calls & set(_GRADIENTS):
        return True
    if method == "assign":
        made = set(draft.values.calls(variable))
        lowered = [o.node for o in draft.values.origins(value) if isinstance(o.node, ast.BinOp)]
        return _PLACEHOLDER in calls and any(
            isinstance(e.op, ast.Sub) and made & set(draft.values.calls(e.left)) for e in lowered
        )
    return method == "assign_sub" and _PLACEHOLDER in calls


def _averages_by_hand(draft: Draft, call: ast.Call) -> bool:
    """Averages the `tf.gradients(…)` behind an `apply_gradients`; False where a wrapped optimizer computes them."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr != "apply_gradients":
        return False
    pairs = argument(call, "grads_and_vars", 0)
    sources = draft.sites.flow.flow_from(pairs, lambda c: _is_source(draft, c)) if pairs is not None else []
    if not sources:
        draft.refuse(
            "HVD006",
            call,
            "where these gradients are computed can't be followed, so they can't be averaged; compute them in this file",
        )
    by_hand = [s for s in sources if draft.names.of(s.func) in _GRADIENTS]
    receiver = call.func.value
    op = strong.operation(draft, strong.sites_of(draft, receiver))
    for source in by_hand:
        _average(draft, source, op)
    return bool(by_hand) and len(by_hand) == len(sources)


def _is_source(draft: Draft, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "compute_gradients":
        return True
    return draft.names.of(call.func) in _GRADIENTS


def _average(draft: Draft, call: ast.Call, op: str) -> None:
    """`tf.gradients(loss, v)` → `[g if g is None else hvd.allreduce(g) for g in tf.gradients(loss, v)]`"""
    if not draft.once("averaged", call):
        return
    g = draft.same_name("g")
    opening = f"[{g} if {g} is None else {CORE}.allreduce({g}{op}) for {g} in "
    edits = Edit.around(draft.module.span(call), opening, "]")
    draft.change("S2", call, "Average the gradients over all ranks", _WHY, edits)


RULE = Rule("S2", "wrap the optimizer of a graph", apply, __doc__ or "")
