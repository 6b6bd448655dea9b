"""The calls that take a step of training."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft


def steps_of(draft: Draft) -> list[ast.Call]:
    """The places that train, in a loop of the program's own."""
    updates = [u.call for u in draft.sites.updates]
    return updates + [run.call for run in draft.sites.graph.trainings] + [f.call for f in draft.sites.fits]


__all__ = ["steps_of"]
