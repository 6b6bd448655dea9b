"""Datasets of one element, which is all rows: part of D1.

`from_tensors((x, y))` gives all rows to each step. There are no elements to divide among the ranks, and what of them are rows
can't be told (of a graph's nodes and edges, none are). All ranks compute all of them, at the rate of one process; this is
asked about."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding

_WHAT = "Divide the rows of the dataset's one element among the ranks"
_WHY = "Every step sees all rows: each rank could compute its share of them."
_WHOLE = (
    "this dataset has one element, which holds all rows, so every rank computes all of them; divide its rows, as "
    "`x[hvd.rank()::hvd.size()]`, if the loss is a mean over rows"
)


def holds(draft: Draft, place: ast.expr) -> bool:
    """Whether a pipeline has one element up to a place, which is all rows."""
    return draft.facts.steps.is_one_batch(place) and bool(_made_by(draft, place))


def ask(draft: Draft, place: ast.expr) -> None:
    """Asks whether its rows can be divided."""
    for call in _made_by(draft, place):
        if draft.once("one element", call):
            draft.ask("D1", call, _WHAT, _WHY, _WHOLE)


def _made_by(draft: Draft, place: ast.expr) -> list[ast.Call]:
    trail = feeding(draft).pipelines.trail(place)
    return [e for e in trail if isinstance(e, ast.Call) and draft.names.last(e.func) == "from_tensors"]


__all__ = ["ask", "holds"]
