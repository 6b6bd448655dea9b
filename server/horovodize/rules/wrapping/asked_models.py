"""Which model a `compile` is of, where that says that nothing is to be wrapped: part of K1 and K2.

One that is only asked is compiled for what `evaluate` measures, and never trained. What a callback is called for, its
`self.model`, is what `fit` trains: `self.model.compile(self.model.optimizer)` has the optimizer that is wrapped already."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.summary.site_kinds import Compile

_CALLBACK = "tensorflow.keras.callbacks.Callback"
# What makes a model that nothing else holds.
_MAKING = frozenset(
    f"tensorflow.keras.{name}"
    for name in (
        "Model",
        "Sequential",
        "models.Model",
        "models.Sequential",
        "models.clone_model",
        "models.load_model",
        "models.model_from_json",
    )
)
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
    reads = [n for n in draft.module.loads.get(model.id) if isinstance(n, ast.Name)]
    return all(_is_asking(draft, n) for n in reads if scopes.lookup(n.id, n) is home)


def is_made_to_be_asked(draft: Draft, site: Compile) -> bool:
    """Whether a model that is only asked is surely one of its own, and so is the optimizer of its `compile`: `exported =
    Sequential([model, Activation("sigmoid")])`, `exported.compile("adam", …)`. What a function returns may be what trains."""
    if len(draft.sites.compiles) < 2 or not isinstance(site.model, ast.Name):
        return False
    if not all(draft.syntax.inside(o, site.call) and not _reads(o) for o in site.optimizers):
        return False
    if not is_only_asked(draft, site):
        return False
    bindings = draft.module.scopes.reaching(site.model)
    made = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
    return isinstance(made, ast.Call) and draft.names.of(made.func) in _MAKING


def _reads(optimizer: ast.expr) -> bool:
    """Whether an optimizer is no name of Keras', and not made where it stands."""
    is_text = isinstance(optimizer, ast.Constant) and isinstance(optimizer.value, str)
    return not is_text and not isinstance(optimizer, ast.Call)


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


__all__ = ["is_made_to_be_asked", "is_of_callback", "is_only_asked"]
