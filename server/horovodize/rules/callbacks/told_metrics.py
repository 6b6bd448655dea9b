"""Metrics that a loop of the program's own tells callbacks: `plateau.on_epoch_end(epoch, {"loss": mean})`. Part of G4.

`fit` averages metrics over the ranks before callbacks see them (K3). Where the program calls a callback that lowers the rate or
ends training by a metric, each rank would tell it its own: they are averaged where they are told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import differing

_BY_METRICS = "tensorflow.keras.callbacks.EarlyStopping", "tensorflow.keras.callbacks.ReduceLROnPlateau"
_HOOK = "on_epoch_end"
_WHAT = "Tell callbacks the mean over all ranks"
_WHY = "Ranks whose callbacks see different metrics lower the rate, or end, at different times."
_DOUBT = (
    "this callback lowers the rate or ends training by a metric, and each rank tells it one of its own: tell it the mean over "
    "all ranks (`hvd.allreduce`)"
)


def average_told(draft: Draft) -> None:
    for call in draft.sites.method_calls(_HOOK):
        logs = argument(call, "logs", 1)
        if logs is None or not _goes_by_metrics(draft, call) or draft.drive.in_traced(call):
            continue
        told = [value for value in _values(draft, logs) if differing(draft, value)]
        agreed = [means.decide_alike(draft, value, number=True) for value in told]
        if not all(agreed) or (not told and differing(draft, logs)):
            draft.ask(draft.loop_rule, call, _WHAT, _WHY, _DOUBT)


def _goes_by_metrics(draft: Draft, call: ast.Call) -> bool:
    """Whether the callback that is called, or one of a list of them, decides by metrics."""
    assert isinstance(call.func, ast.Attribute)
    made = draft.values.depends([call.func.value], 300)
    return any(isinstance(n, ast.Call) and draft.names.of(n.func) in _BY_METRICS for n in made)


def _values(draft: Draft, logs: ast.expr) -> Iterator[ast.expr]:
    """The metrics in a dictionary that is written out, or filled item by item."""
    for origin in draft.values.origins(logs):
        match origin.node:
            case ast.Dict(values=values):
                yield from values
            case ast.DictComp(value=value):
                yield value
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                yield from (k.value for k in keywords)
    if isinstance(logs, (ast.Name, ast.Attribute)):
        yield from draft.sites.flow.elements.values(logs)
