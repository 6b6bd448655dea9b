"""What a callback of the user's own puts into the logs, and another callback steers by: part of K3.

`logs["val_f1"] = f1` comes after Horovod's callback has averaged the metrics. Where it is each rank's own, for the model has
batch-norm statistics or the callback draws the rows that it looks at, `EarlyStopping("val_f1")` would end the training of one
rank, and the others would wait for it; `ReduceLROnPlateau` would give each a rate of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize import catalogue
from horovodize.facts.counting.hooks import Hook
from horovodize.python.syntax import argument
from horovodize.rules.beginning import keras_session
from horovodize.rules.callbacks import callback_decisions
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import can_agree, differing
from horovodize.source import Edit

_WHAT = "Average what the logs get over all ranks"
_WHY = "Another callback steers by it, and each rank has measured its own: one that stops alone leaves the others waiting."
_UNAGREED = "each rank may put a value of its own into the logs here, by which training is steered: give all ranks the same"


def apply(draft: Draft) -> None:
    watched = set(_watched(draft)) if draft.facts.hooks.all else set()
    for hook in draft.facts.hooks.all if watched else ():
        for name, value in _put(hook):
            is_watched = name is None or None in watched or name in watched
            if is_watched and (callback_decisions.is_own(draft, [value]) or differing(draft, value)):
                _average(draft, value)


def _watched(draft: Draft) -> Iterator[str | None]:
    """The metrics by which callbacks of Keras' steer; None where it can't be seen which."""
    for call in draft.syntax.calls:
        name = draft.names.of(call.func) or ""
        if catalogue.callback_role(name) != "steers":
            continue
        monitor = argument(call, "monitor", 0)
        if isinstance(monitor, ast.Constant):
            yield str(monitor.value)
        elif monitor is not None:
            yield None


def _put(hook: Hook) -> Iterator[tuple[str | None, ast.expr]]:
    """(name, value) of `logs["f1"] = value` and `logs.update({"f1": value})`; the name is None where it is computed."""
    for n in ast.walk(hook.function):
        if isinstance(n, ast.Assign):
            for target in n.targets:
                if isinstance(target, ast.Subscript) and _is_logs(hook, target.value):
                    yield _name(target.slice), n.value
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "update":
            if _is_logs(hook, n.func.value):
                given = n.args[0] if n.args else None
                if isinstance(given, ast.Dict):
                    yield from ((_name(k), v) for k, v in zip(given.keys, given.values, strict=True))
                yield from ((k.arg, k.value) for k in n.keywords if k.arg is not None)


def _is_logs(hook: Hook, e: ast.expr) -> bool:
    return isinstance(e, ast.Name) and e.id == hook.logs


def _name(key: ast.expr | None) -> str | None:
    return str(key.value) if isinstance(key, ast.Constant) else None


def _average(draft: Draft, value: ast.expr) -> None:
    if isinstance(value, ast.Name) and means.decide_alike(draft, value, number=True):
        return  # where it is measured: other things may be decided by it
    if not draft.once("averaged", value):
        return
    if keras_session.is_wanted(draft) or not can_agree(draft, value):
        draft.ask("K3", value, _WHAT, _WHY, _UNAGREED)
        return
    edits = Edit.around(draft.module.span(value), f"{draft.helper('mean_over_ranks')}(", ")")
    draft.change("K3", value, _WHAT, _WHY, edits)
