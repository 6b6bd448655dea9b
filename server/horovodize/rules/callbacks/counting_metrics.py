"""Metrics that count rows, of which each rank sees 1/size(): part of K3.

`MetricAverageCallback` averages what an epoch's logs say. Of a mean that is the mean of all; of a count, `TruePositives()`, it
is 1/size() of what one process counts, where what is validated on stays whole."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding

_COUNTS = ("TruePositives", "TrueNegatives", "FalsePositives", "FalseNegatives", "Sum")
_SAID = (
    "this counts rows, and an epoch's logs give the mean of what the ranks count: 1/size() of what one process does, while "
    "what is validated on stays whole; multiply by `hvd.size()` where it is shown"
)


def tell(draft: Draft) -> None:
    """Says so of each metric that models which `fit` trains are compiled with."""
    if all(map(draft.facts.undivided.is_fit, feeding(draft).fits)):
        return
    made = draft.module.calls_of(*(f"tensorflow.keras.metrics.{name}" for name in _COUNTS))
    for call in made:
        if draft.once("counts rows", call) and _is_compiled(draft, call):
            draft.note("K3", call, _SAID)


def _is_compiled(draft: Draft, metric: ast.Call) -> bool:
    """Whether `compile` is given a metric, in a list or by the name of one."""
    given = [k.value for c in draft.sites.method_calls("compile") for k in c.keywords if k.arg == "metrics"]
    return metric in set(draft.values.depends(given, 400)) if given else False


__all__ = ["tell"]
