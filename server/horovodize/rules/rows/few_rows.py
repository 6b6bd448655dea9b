"""Datasets of which a few ranks' batches would hold all rows: part of D1.

Of 64 rows in batches of 32 each of four ranks gets one batch of 16: all of them together take 64 rows a step, at four times the
rate. That is said where both numbers are constants."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding

RANKS = 16  # that a script is likely to meet, where rows are few
SAID = (
    "with fewer rows than ranks × batch size, the batch of all ranks together grows less than the rate: check that there are "
    "enough rows, or keep the rate"
)


def tell(draft: Draft, feed: ast.expr) -> None:
    """Says so of a dataset that has been divided."""
    if draft.options.keeps_batch or draft.in_graph or not draft.growth:
        return
    if draft.facts.steps.is_one_batch(feed):
        return  # its rate stays
    found = _batched(draft, feed)
    if found is not None and draft.once("few rows", found):
        draft.note("D1", found, SAID)


def batches(draft: Draft, feed: ast.expr) -> int | None:
    """How many batches one pass of a pipeline gives, where both numbers are constants."""
    found = _numbers(draft, feed)
    return max(1, found[1] // found[2]) if found is not None else None


def _batched(draft: Draft, feed: ast.expr) -> ast.Call | None:
    """The step of a pipeline that makes batches of rows of which there are too few, each gone through once."""
    found = _numbers(draft, feed)
    return found[0] if found is not None and found[1] < found[2] * RANKS else None


def _numbers(draft: Draft, feed: ast.expr) -> tuple[ast.Call, int, int] | None:
    """(the step of a pipeline that makes batches, the number of rows, how many of them a batch has), each gone through once;
    None where the numbers aren't seen."""
    constant, rows = feeding(draft).kinds.constant, None
    batched: ast.Call | None = None
    made_by = [e for e in feeding(draft).pipelines.trail(feed) if isinstance(e, ast.Call)]
    for step in made_by:  # from the last one back
        last = draft.names.last(step.func)
        if last == "batch" and batched is None:
            batched = step
        elif batched is not None and last in (
            "repeat",
            "flat_map",
            "interleave",
            "concatenate",
            "skip",
            "window",
            "unbatch",
        ):
            return None
        elif batched is not None and last == "take":
            count = argument(step, "count", 0)
            rows = rows or (constant(count) if count is not None else None)
        elif last == "from_tensor_slices":
            rows = rows or _rows(draft, step)
    size = argument(batched, "batch_size", 0) if batched is not None else None
    batch = constant(size) if size is not None else None
    return (batched, rows, batch) if batched is not None and rows and batch else None


def _rows(draft: Draft, call: ast.Call) -> int | None:
    given = argument(call, "tensors", 0)
    parts = given.elts if isinstance(given, ast.Tuple) else [given] if given is not None else []
    counts = {draft.facts.steps.shapes.rows(part) for part in parts} - {None}
    return counts.pop() if len(counts) == 1 else None


__all__ = ["RANKS", "SAID", "batches", "tell"]
