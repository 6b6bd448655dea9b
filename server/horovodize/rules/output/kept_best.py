"""Checkpoints that rank 0 keeps as the best by its own rows: part of C6.

`mean = total / n`, `if mean < best: best = mean; model.save(path)`, and nothing else hangs on it: ranks stay together, but what
rank 0 finds the best on its share need not be what is the best on all rows. So `mean` is made that of all ranks, where it is
set and all ranks come there; elsewhere it is said (`if total / n < best: …`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.over_rows import Over
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guarded
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import differing
from horovodize.rules.together.number_parts import BEST_OF
from horovodize.rules.together.own_measures import Measured, can_be_averaged, measured_in, over_shares, place
from horovodize.source.nodes import walk

_SAVING = ("save", "save_weights", "save_model")
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_LIMIT = 600  # nodes that a loss is made of
_BEST = (
    "which checkpoint is the best is decided here by what rank 0's own rows gave: compare the mean over all ranks "
    "(`hvd.allreduce`), taken before where all ranks come, if the best of all rows is meant"
)


def tell(draft: Draft, guarded: Guarded) -> None:
    """Lets each test that rank 0 alone goes by to keep the best go by all rows, or says that it doesn't."""
    settled = {e for e, _ in draft.settled}
    for decision in draft.module.which(_moves_the_best, ast.If) if draft.divided else ():
        test = decision.test
        if test in settled or draft.was(test, Agreed):
            continue
        if not any(draft.names.last(c.func) in _SAVING and c in guarded for c in _calls(draft, decision)):
            continue
        own = [r.where for r in differing(draft, test) if isinstance(r, Varies) and r.kind is Source.ROWS]
        if not _trained_on(draft).isdisjoint(own) and not _goes_by_the_mean(draft, guarded, decision):
            draft.note("C6", test, _BEST)


def _calls(draft: Draft, decision: ast.If) -> Iterator[ast.Call]:
    """The calls under a test, also those in functions of the program that are called there."""
    todo: list[ast.AST] = list(decision.body)
    seen = set[ast.AST]()
    while todo:
        for call in (n for n in ast.walk(todo.pop()) if isinstance(n, ast.Call)):
            yield call
            run = [f for f in draft.values.graph.runs(call) if f not in seen]
            seen.update(run)
            todo += run


def _goes_by_the_mean(draft: Draft, guarded: Guarded, decision: ast.If) -> bool:
    """Averages what a test goes by, where it is set and no rank stays away; whether that could be done."""
    found = measured_in(draft, decision.test, set()) or set()
    within = {m for m in found if draft.syntax.inside(place(m), decision)}
    outside = found - within
    if not outside or not all(_is_set_to_what_is_compared(decision, m) for m in within):
        return False  # rank 0 alone may come there
    if any(isinstance(m, ast.expr) and draft.syntax.inside(m, decision) for m in found):
        return False
    if not all(can_be_averaged(draft, m, decision.test) and guarded.collective(place(m)) for m in outside):
        return False
    if any(over_shares(draft, place(m)) is Over.SUM for m in outside):
        return False  # what of it is a sum over rows, and what a mean, can't be seen
    return means.average_each(draft, decision.test, outside)


def _is_set_to_what_is_compared(decision: ast.If, measured: Measured) -> bool:
    """`best = total / n` of `if total / n < best:`, which is of all rows where `total` is."""
    value = measured.value if isinstance(measured, Binding) and not measured.path else None
    compared = (
        n for c in ast.walk(decision.test) if isinstance(c, ast.Compare) for n in (c.left, *c.comparators)
    )
    return value is not None and any(ast.dump(value) == ast.dump(n) for n in compared)


def _trained_on(draft: Draft) -> set[ast.AST]:
    """What the losses of steps are made of, where the steps are taken. Of a function that makes losses for others, too, it
    isn't seen which rows they are of: those that each rank validates with, all of them, say."""
    found = set[ast.AST]()
    for site in [u.call for u in draft.sites.updates if u.step_of is None]:
        made_of = draft.values.depends(draft.facts.steps.losses_of(site), _LIMIT)
        found |= {n for n in made_of if draft.syntax.function(n) is draft.syntax.function(site)}
    return found


def _moves_the_best(module: Module, decision: ast.If) -> bool:
    """Whether what is compared is the best from then on: `if loss < best: best = loss`, `if loss == min(history):`."""
    compared = [n for n in walk(decision.test) if isinstance(n, ast.Compare) and len(n.ops) == 1]
    sides = [(n.left, n.comparators[0], n.ops[0]) for n in compared]
    if not sides:
        return False
    ordered = [(one, other) for one, other, by in sides if isinstance(by, _ORDER)]
    pairs = {
        (ast.unparse(a), ast.unparse(b)) for one, other in ordered for a, b in ((one, other), (other, one))
    }
    sets = (s for top in decision.body for s in walk(top) if isinstance(s, ast.Assign))
    return any((ast.unparse(s.value), ast.unparse(t)) in pairs for s in sets for t in s.targets) or any(
        isinstance(side, ast.Call) and module.names.last(side.func) in BEST_OF
        for one, other, _ in sides
        for side in (one, other)
    )


__all__ = ["tell"]
