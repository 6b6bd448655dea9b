"""Averaged metrics that are written as JSON: part of K3.

`MetricAverageCallback` leaves NumPy's numbers in what `fit` returns and in the logs of callbacks, where one process has
Python's own: `json.dump(history.history, file)` would stop with a TypeError, after all of the training.
"""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import is_kept_by_fit

_WRITERS = ("json.dump", "json.dumps")
_WHAT = "Write averaged metrics as numbers"
_WHY = "Averaged over the ranks they are NumPy's numbers, which JSON doesn't know."
_CONVERTED = ("float", "str", "int", "repr")


def apply(draft: Draft) -> None:
    """Says how JSON is to write numbers that `fit` averages; what averages under Keras 3 is ours, and gives Python's."""
    if draft.keras_3:
        return
    for call in draft.module.calls_of(*_WRITERS):
        given = argument(call, "obj", 0)
        if given is None or any(k.arg in ("default", "cls", None) for k in call.keywords):
            continue
        if not _converts(draft, given) and any(_is_averaged(draft, r) for r in draft.uniform.reasons(given)):
            draft.change("K3", call, _WHAT, _WHY, [draft.add_argument(call, "default=float")])


def _is_averaged(draft: Draft, reason: object) -> bool:
    """Whether a value comes from what `fit` returns, or from the logs that it hands to callbacks."""
    if not isinstance(reason, Varies):
        return False
    if is_kept_by_fit(draft, reason):
        return True
    hook = draft.facts.hooks.around(reason.where)
    where = reason.where
    name = where.arg if isinstance(where, ast.arg) else where.id if isinstance(where, ast.Name) else None
    return hook is not None and name is not None and name == hook.logs


def _converts(draft: Draft, given: ast.expr) -> bool:
    """Whether what is written makes Python's numbers of it, or text."""
    made = [given, *(o.node for o in draft.values.origins(given))]
    return any(
        isinstance(n, ast.Call)
        and draft.module.scopes.is_builtin(n.func)
        and draft.names.last(n.func) in _CONVERTED
        for e in made
        for n in ast.walk(e)
    )
