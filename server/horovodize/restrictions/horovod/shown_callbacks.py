"""Whether a file shows all that may broadcast in its fits (HVD306)."""

from __future__ import annotations

import ast

from horovodize.python.syntax import arguments, has_unpacking
from horovodize.restrictions.context import Context


def shows_callbacks(context: Context) -> bool:
    """Whether all that trains is a `fit` whose callbacks and model are seen: modules beside have nothing to broadcast with."""
    items = context.facts.callback_items
    fits = {f.call: f for f in context.sites.fits}
    for loop in context.loops:
        fit = fits.get(loop.node)
        if fit is None or has_unpacking(fit.call):
            return False
        classes = [items.classes(item) for item in items.of(fit.call)]
        if not all(c and all(name.startswith(("tensorflow.", "horovod.")) for name in c) for c in classes):
            return False
        if not context.values.class_names(fit.model) or _is_given_away(context, fit.model):
            return False
    return not context.facts.horovod.is_passed_on


def _is_given_away(context: Context, model: ast.expr) -> bool:
    """Whether a model is an argument of something that is not seen."""
    text = context.text(model)
    return any(
        context.text(given) == text
        for call in context.syntax.calls
        if not (context.names.of(call.func) or "").startswith(("tensorflow.", "horovod."))
        for given in arguments(call)
    )
