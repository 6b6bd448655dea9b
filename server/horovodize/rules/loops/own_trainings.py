"""Models that each turn of a dealt loop makes and trains for itself: part of G4.

In meta learning a learner is made for each task, trained on its rows, and what it has learnt moves another model. Ranks that
get other tasks would average the gradients of learners that have nothing to do with each other."""

from __future__ import annotations

import ast

from horovodize.python.syntax import Loop
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.summary.begun_anew import begun_anew, models_of

_MIXED = (
    "each turn of the loop around trains a model of its own here, and ranks take different turns: the gradients of models that "
    "belong to different rows would be averaged; train it without averaging, and distribute the other steps by hand"
)


def refuse(draft: Draft) -> None:
    """Refuses steps of a model that each turn makes, in a loop that brings other steps their data."""
    module, sites, syntax = draft.module, draft.sites, draft.syntax
    made = {u.call: models for u in sites.updates if (models := models_of(module, sites, u.call))}
    for call, models in made.items():
        apart = {loop for way in draft.drive.ways(call) for loop in begun_anew(syntax, way, models)}
        for driver in feeding(draft).drivers if apart else ():
            lasting = [s for s in driver.steps if s is not call and made.get(s) != models]
            around = any(loop is driver.loop or syntax.inside(loop, driver.loop) for loop in apart)
            if around and any(not _is_made_in(draft, s, made.get(s, frozenset()), apart) for s in lasting):
                draft.refuse("HVD006", call, _MIXED)


def _is_made_in(draft: Draft, step: ast.Call, models: frozenset[ast.AST], loops: set[Loop]) -> bool:
    """Whether what a step trains is made in these loops, too: a generator and its critic, for each of several runs."""
    return any(loops & set(begun_anew(draft.syntax, way, models)) for way in draft.drive.ways(step))
