"""Checkpoints that rank 0 keeps as the best by its own rows: part of C6.

`if total / n < best: best = total / n; model.save(path)`, and nothing else hangs on it: ranks stay together, but what rank 0
finds the best on its share need not be what is the best on all rows. That is said."""

from __future__ import annotations

import ast

from horovodize.facts.answers import Varies
from horovodize.facts.sources import Source
from horovodize.rules.any_rank_test import differing
from horovodize.rules.decisions import Agreed
from horovodize.rules.draft import Draft
from horovodize.rules.guards import Guarded

_SAVING = ("save", "save_weights", "save_model")
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_LIMIT = 600  # nodes that a loss is made of
_BEST = (
    "which checkpoint is the best is decided here by what rank 0's own rows gave: compare the mean over all ranks "
    "(`hvd.allreduce`), taken before where all ranks come, if the best of all rows is meant"
)


def tell(draft: Draft, guarded: Guarded) -> None:
    """Says so of each test that rank 0 alone goes by to keep the best."""
    settled = {e for e, _ in draft.settled}
    for decision in draft.syntax.every(ast.If) if draft.divided else ():
        test = decision.test
        if test in settled or draft.was(test, Agreed) or not _moves_the_best(decision):
            continue
        saving = (n for s in decision.body for n in ast.walk(s) if isinstance(n, ast.Call))
        if not any(draft.names.last(c.func) in _SAVING and c in guarded for c in saving):
            continue
        own = [r.where for r in differing(draft, test) if isinstance(r, Varies) and r.kind is Source.ROWS]
        if not _trained_on(draft).isdisjoint(own):
            draft.note("C6", test, _BEST)


def _trained_on(draft: Draft) -> set[ast.AST]:
    """What the losses of steps are made of, where the steps are taken. Of a function that makes losses for others, too, it
    isn't seen which rows they are of: those that each rank validates with, all of them, say."""
    found = set[ast.AST]()
    for site in [u.call for u in draft.sites.updates if u.step_of is None]:
        made_of = draft.values.depends(draft.facts.steps.losses_of(site), _LIMIT)
        found |= {n for n in made_of if draft.syntax.function(n) is draft.syntax.function(site)}
    return found


def _moves_the_best(decision: ast.If) -> bool:
    """Whether what is compared is the best from then on: `if loss < best: best = loss`."""
    compared = [n for n in ast.walk(decision.test) if isinstance(n, ast.Compare) and len(n.ops) == 1]
    sides = [(n.left, n.comparators[0]) for n in compared if isinstance(n.ops[0], _ORDER)]
    pairs = {
        (ast.unparse(a), ast.unparse(b)) for one, other in sides for a, b in ((one, other), (other, one))
    }
    sets = (s for top in decision.body for s in ast.walk(top) if isinstance(s, ast.Assign))
    return any((ast.unparse(s.value), ast.unparse(t)) in pairs for s in sets for t in s.targets)


__all__ = ["tell"]
