"""How many parts scikit-learn's splitters give: as many as they are told, whatever they split."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import argument, has_unpacking

_SPLITTERS = "sklearn.model_selection."
_BY_NUMBER = {
    "KFold",
    "StratifiedKFold",
    "GroupKFold",
    "StratifiedGroupKFold",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "StratifiedShuffleSplit",
    "GroupShuffleSplit",
    "TimeSeriesSplit",
}


def told(module: Module, call: ast.Call) -> list[ast.expr] | None:
    """What says how many parts `KFold(5).split(x)` gives: `5`; none where that is a default. None for other calls."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "split":
        return None
    made = module.values.calls(func.value)
    if not made or any(has_unpacking(c) for c in made):
        return None
    for name in (module.names.of(c.func) or "" for c in made):
        if not name.startswith(_SPLITTERS) or name.removeprefix(_SPLITTERS) not in _BY_NUMBER:
            return None
    given = [argument(c, n, i) for c in made for n, i in (("n_splits", 0), ("n_repeats", None))]
    return [e for e in given if e is not None]


__all__ = ["told"]
