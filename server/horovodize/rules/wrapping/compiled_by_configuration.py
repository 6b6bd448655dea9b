"""Models that Keras 3 compiles by a configuration, `model.compile_from_config(other.get_compile_config())`: part of K1.

The optimizer is made within Keras, of what the configuration says: nothing here wraps it, and each rank would train a model of
its own."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft

_METHOD = "compile_from_config"
_REASON = (
    "this makes an optimizer of a configuration, which averages nothing over the ranks; compile the model with one that is "
    "made here by name"
)


def refuse(draft: Draft) -> None:
    """Refuses those that a `fit` trains."""
    for call in draft.sites.method_calls(_METHOD):
        model = call.func.value if isinstance(call.func, ast.Attribute) else None
        if model is not None and any(_is_same(draft, model, fit.model) for fit in draft.sites.fits):
            draft.refuse("HVD105", call, _REASON)


def _is_same(draft: Draft, model: ast.expr, fitted: ast.expr) -> bool:
    alike = ast.unparse(model) == ast.unparse(fitted)
    return alike or bool({*draft.values.calls(model)} & {*draft.values.calls(fitted)})


__all__ = ["refuse"]
