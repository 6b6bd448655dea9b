"""Shares of datasets that are repeated without end: part of D1.

However uneven the ranks' shares are, none of them runs out; so they need no helper that makes them equal."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.source import Edit
from horovodize.summary import pipeline_counts as counts


def of_repeated(draft: Draft, place: ast.expr, feed: ast.expr) -> tuple[Edit, ...]:
    """`dataset.repeat().shard(size, rank)`, where the next step repeats it forever: all ranks together go through the elements
    in the order of one process, however few there are."""
    if draft.was(place, Shared) or draft.options.keeps_batch or draft.facts.steps.is_one_batch(feed):
        return ()
    repeated = counts.repeated_next(feeding(draft).pipelines, place)
    if repeated is None or not draft.decide(place, Shared("D1")):
        return ()
    draft.divided = True
    span = draft.module.span(repeated)
    return (Edit.insert(span.end, f".shard({SIZE}, {RANK})", span),)


def uneven(draft: Draft, place: ast.expr, feed: ast.expr) -> tuple[Edit, ...]:
    """`dataset.shard(size, rank)`, where it is repeated forever before, or after; after it, not where there may be fewer
    elements than ranks."""
    pipelines = feeding(draft).pipelines
    if (
        draft.was(place, Shared)
        or draft.options.keeps_batch
        or not isinstance(place, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        or not (
            counts.is_endless(pipelines, place)
            or (
                counts.is_endless_after(pipelines, place, feed)
                and not counts.knows_its_length(pipelines, place)
            )
        )
    ):
        return ()
    draft.decide(place, Shared("D1"))
    draft.divided = True
    return (Edit.insert(draft.module.span(place).end, f".shard({SIZE}, {RANK})", draft.module.span(place)),)


__all__ = ["of_repeated", "uneven"]
