"""Schedules of another package's classes, `SGD(CyclicRate(1e-4, 1e-2, 2000))`: part of C5 and K1."""

from __future__ import annotations

import ast

from horovodize.facts.rates.saved_models import saves_models
from horovodize.python.values import Origin
from horovodize.rules.drafting.draft import Draft


def is_made_elsewhere(draft: Draft, origin: Origin) -> bool:
    """Whether a rate is an object of a class of another module: then it is a schedule, not a number."""
    call = origin.call
    if call is None or draft.values.callee(call) is not None or not draft.names.last(call.func)[:1].isupper():
        return False
    name = draft.names.of(call.func)  # a class is imported; `hp.Choice(…)` is a method
    return name is not None and not name.startswith(("tensorflow.", "numpy."))


def is_rate(draft: Draft, rate: ast.expr | None) -> bool:
    """Whether a rate is such a schedule, whatever decides which."""
    origins = draft.values.origins(rate) if rate is not None else []
    return bool(origins) and all(is_made_elsewhere(draft, o) for o in origins)


def why_not(draft: Draft) -> str:
    """What stands against another schedule around such a one in a compiled model; "" for nothing."""
    if saves_models(draft.module, draft.sites):
        return "a saved model is loaded with its schedule, which a class of another file may give no configuration for"
    return ""


__all__ = ["is_made_elsewhere", "is_rate", "why_not"]
