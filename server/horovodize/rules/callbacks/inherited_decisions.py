"""Callbacks that have Keras' own decide with some batches: part of K3.

    class EveryHundred(ReduceLROnPlateau):
        def on_train_batch_end(self, batch, logs=None):
            ...
            super().on_epoch_end(self.batches, logs)

Metrics are averaged over the ranks when an epoch ends, not before: rates would go apart, or one rank alone would stop."""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.facts.counting.hooks import Hook
from horovodize.rules.drafting.draft import Draft

_WHAT = "Decide on all ranks together"
_WHY = "A rank that stops alone leaves the others waiting; ranks with rates of their own drift apart: all do as one would."
_ASKED = (
    "this decides by what a rank's own batches gave, and ranks may decide otherwise: hand it the means over all ranks, "
    "`hvd.allreduce` (of `horovod.tensorflow`)"
)


def ask(draft: Draft) -> None:
    for hook in draft.facts.hooks.all if not draft.in_graph else ():
        owner = draft.syntax.method_class(hook.function)
        if owner is None or not hook.is_of_batches:
            continue
        if "steers" not in {catalogue.callback_role(base) for base in draft.values.ancestors(owner)}:
            continue
        for call in (n for n in ast.walk(hook.function) if isinstance(n, ast.Call)):
            if _decides(call) and any(_is_of_batches(draft, hook, e) for e in _given(call)):
                if draft.once("inherited decision", call):
                    draft.ask("K3", call, _WHAT, _WHY, _ASKED)


def _decides(call: ast.Call) -> bool:
    """`super().on_epoch_end(…)`, `self.on_epoch_end(…)`"""
    match call.func:
        case ast.Attribute(attr="on_epoch_end", value=ast.Name(id="self")):
            return True
        case ast.Attribute(attr="on_epoch_end", value=ast.Call(func=ast.Name(id="super"))):
            return True
    return False


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args[1:], *(k.value for k in call.keywords)]


def _is_of_batches(draft: Draft, hook: Hook, e: ast.expr) -> bool:
    named = {n.id for n in ast.walk(e) if isinstance(n, ast.Name)}
    return (hook.logs or "") in named or bool(draft.uniform.of_values.varies(e))


__all__ = ["ask"]
