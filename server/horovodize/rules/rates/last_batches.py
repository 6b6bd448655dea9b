"""Batches that an epoch of a rank has beyond its share: part of C5.

Of 900 rows in batches of 64 an epoch alone has 15 batches, one of two ranks has 8 of its 450: together 16. A count of the steps
of all ranks comes to more than alone then, and a rate that is a line to zero comes out below it."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import feeding
from horovodize.summary.feeding import Kind

_BATCHING = {"batch": 1, "padded_batch": 3}  # methods, and where they are told to leave out what is left


def may_be_more(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is of steps on the batches of a data set, of which each rank batches its share of the rows by itself, the
    last of an epoch as well where it has fewer rows."""
    counter = draft.facts.counters.of(read)
    drivers = counter.drivers if counter is not None else ()
    of_data = [d for d in drivers if d.kind is Kind.DATASET and counted.is_divided(draft, d)]
    return any(_keeps_the_last(draft, d.iterable) for d in of_data if d.iterable is not None)


def _keeps_the_last(draft: Draft, data: ast.expr) -> bool:
    """Whether the rows of a data set are batched after they are divided, and all of them."""
    trail = feeding(draft).pipelines.trail(data)
    batching = [
        n
        for n in trail
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in _BATCHING
    ]
    repeated = any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "repeat"
        for n in trail
    )
    return bool(batching) and not repeated and not any(_drops(n) for n in batching)


def _drops(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    drops = argument(call, "drop_remainder", _BATCHING[name])
    return drops is not None and not (isinstance(drops, ast.Constant) and drops.value is False)


__all__ = ["may_be_more"]
