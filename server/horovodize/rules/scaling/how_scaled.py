"""Which scaling was chosen for each place that trains, and why, in a sentence: what diffs, hovers and summaries begin with."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.feeds.steps import Feed
from horovodize.plan import Decision, StepScaling
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.scaling import strong
from horovodize.rules.scaling.strong import Scaling

_SHARED_ROWS = "every step sees all rows; each rank takes its share, rate and steps stay"
_WHOLE_ROWS = "every step sees all rows, which can't be divided here: each rank computes all of them, rate and steps stay"
_GLOBAL = "all ranks together take the batches that one process took, so rate and steps stay"
_PLAYED = (
    "each rank plays games of its own, so rate and steps stay and training sees size() times the experience"
)
_ON_ALL = "every rank trains on all of it, so rate and steps stay"
_RATES = {"linear": "rate × size()", "sqrt": "rate × √size()", "keep": "rate stays"}


def sentences(draft: Draft) -> list[StepScaling]:
    """One for each place that trains with a step of its own, when all rules have run. Estimators' have none."""
    found = []
    for site in dict.fromkeys(_sites(draft)):
        kind, why, sure = _chosen(draft, site)
        found.append(StepScaling(kind, why, draft.module.span(site), sure))
    return sorted(found, key=lambda s: s.span)


def _sites(draft: Draft) -> Iterator[ast.Call]:
    known = {f.call for f in draft.sites.fits} | {u.call for u in draft.sites.updates}
    known |= {run.call for run in draft.sites.graph.trainings}
    yield from (loop.node for loop in draft.summary.loops if loop.node in known)


def _chosen(draft: Draft, site: ast.Call) -> tuple[str, str, bool]:
    """(the kind of scaling, why, whether that is proven)."""
    scaling = strong.scaling(draft, site)
    if draft.facts.steps.game(site) is not None:
        return "own games", _PLAYED, False
    if scaling is Scaling.STRONG:
        step = draft.facts.steps.of(site)
        why = _WHOLE_ROWS if strong.stays_whole(draft, step) else _SHARED_ROWS
        return "strong", why, not strong.doubt_of_rows(draft, step)
    if scaling is Scaling.GLOBAL:
        asked = any(not c.sure and c.decision is Decision.BATCH for c in draft.changes)
        return "strong", _GLOBAL, not asked
    if scaling is Scaling.SAME:
        return "none", _ON_ALL, True
    return "weak", *_weak(draft, site)


def _weak(draft: Draft, site: ast.Call) -> tuple[str, bool]:
    rate = _RATES[draft.options.rate]
    if not draft.options.split_data:
        return f"each rank takes batches of all of the data: {rate}, steps stay", True
    if not _takes_fewer_steps(draft, site):
        return f"each rank trains on batches that it gets itself: {rate}; no steps to divide are seen", True
    step = draft.facts.steps.of(site)
    if step.feed is Feed.UNSEEN and step.vague:
        return (
            f"if each step gets a batch, which can't be seen here: {rate}, steps ÷ size(); if it gets all of the data, neither",
            False,
        )
    return f"each rank trains on batches of its own: {rate}, steps ÷ size()", True


def _takes_fewer_steps(draft: Draft, site: ast.Call) -> bool:
    """Whether the loops that run a step, or its `fit`, are divided."""
    fed = [f for f in draft.facts.feeding.fits if f.fit.call is site]
    loops = [d for d in draft.facts.feeding.drivers if site in d.steps]
    return any(counted.is_fit_divided(draft, f) for f in fed) or any(
        counted.is_divided(draft, d) for d in loops
    )
