"""Which model a `compile` is of, where that says that nothing is to be wrapped: part of K1 and K2.

One that is only asked is compiled for what `evaluate` measures, and never trained. What a callback is called for, its
`self.model`, is what `fit` trains: `self.model.compile(self.model.optimizer)` has the optimizer that is wrapped already."""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft
from horovodize.summary.site_kinds import Compile

_CALLBACK = "tensorflow.keras.callbacks.Callback"
_ASKING = frozenset(
    "compile evaluate predict predict_on_batch test_on_batch summary save save_weights export load_weights get_weights "
    "set_weights count_params build".split()
)


def is_only_asked(draft: Draft, site: Compile) -> bool:
    """Whether nothing is done with the model of a `compile` but that it is asked, or given weights."""
    model, scopes = site.model, draft.module.scopes
    if not isinstance(model, ast.Name):
        return False
    home = scopes.lookup(model.id, model)
    bound = scopes.names[home].get(model.id, []) if home is not None else []
    if (
        len(bound) != 1
        or bound[0].kind != "assign"
        or not isinstance(bound[0].value, (ast.Call, ast.Attribute))
    ):
        return False
    reads = [n for n in draft.syntax.every(ast.Name) if n.id == model.id and isinstance(n.ctx, ast.Load)]
    return all(_is_asking(draft, n) for n in reads if scopes.lookup(n.id, n) is home)


def _is_asking(draft: Draft, read: ast.Name) -> bool:
    """`m.evaluate(…)`"""
    held = draft.syntax.parent[read]
    called = draft.syntax.parent[held]
    return (
        isinstance(held, ast.Attribute)
        and held.attr in _ASKING
        and isinstance(called, ast.Call)
        and called.func is held
    )


def is_of_callback(draft: Draft, model: ast.expr) -> bool:
    """`self.model` of a callback"""
    cls = draft.syntax.owner(model)
    return (
        ast.unparse(model) == "self.model"
        and isinstance(cls, ast.ClassDef)
        and _CALLBACK in draft.values.ancestors(cls)
        and bool(draft.sites.fits)
    )


__all__ = ["is_of_callback", "is_only_asked"]
