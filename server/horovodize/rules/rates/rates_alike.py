"""Rates that each rank would compute from losses of its own, a clock or a draw: part of C5.

`optimizer.learning_rate = 0.1 * loss` needs no collective, so nothing stalls; but ranks with rates of their own train different
models. All take rank 0's: where the rate is set, or before training where it is known there already (a rate that a finder of
learning rates gave).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import Loop
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.drafting.other_names import RATES
from horovodize.rules.numbers.number_settings import SET_VALUE
from horovodize.rules.resuming import restoring, resume
from horovodize.rules.together.any_rank_test import agree_value, is_kept_by_fit
from horovodize.rules.wrapping.optimizers import trained_optimizers
from horovodize.summary.call_paths import Frame

_WHAT = "Take rank 0's rate on all ranks"
_WHY = "Ranks that train with rates of their own train different models."
_COUNT = "iterations"
_REFUSED = "ranks may train with different rates: {why}; give all of them the same"


def keep(draft: Draft, rates: Iterable[ast.expr]) -> None:
    """Makes rates rank 0's that ranks would come to by themselves. What only decides that a rate is set is `settings`'."""
    for rate in (value for given in rates for value in draft.values.given_back(given)):
        resume.agree_on_restored(draft, rate)
        found = draft.uniform.of_values.of(rate)
        if not isinstance(found, Varies) or draft.was(found.where, Agreed) or is_kept_by_fit(draft, found):
            continue
        if _is_sent_first(draft, rate) or _is_settled(draft, rate) or _is_told_by_head(draft, rate):
            continue
        known_before = next(_known_before(draft, rate), None)
        if known_before is not None and agree_value(draft, known_before, "C5", _WHAT, _WHY):
            continue
        if not _agree(draft, rate) and not _agree_after(draft, rate):
            draft.refuse("HVD107", rate, _REFUSED.format(why=found.why))


def _is_settled(draft: Draft, rate: ast.expr) -> bool:
    """Whether a rate goes by nothing but what rank 0 sends before the loop: a state that an earlier run kept in a file."""
    reasons = [r for r in draft.uniform.of_values.reasons(rate) if isinstance(r, Varies)]
    return bool(reasons) and all((rate, r.where) in draft.settled for r in reasons)


def _is_told_by_head(draft: Draft, rate: ast.expr) -> bool:
    """Whether a rate goes by nothing but numbers that the head of a loop around it goes by, too, and that are rank 0's before
    the loop therefore: `while state.step < n:`"""
    heads = [loop.test for loop in draft.syntax.loops(rate) if isinstance(loop, ast.While)]
    told = {ast.unparse(n) for head in heads for n in ast.walk(head) if draft.was(n, Agreed)}
    reads = {n for n in ast.walk(rate) if isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) in told}
    return bool(reads) and draft.uniform.where(frozenset(reads)).varies(rate) is None


def _is_sent_first(draft: Draft, rate: ast.expr) -> bool:
    """Whether a rate goes by restored counts of optimizers, and is set in each step: only the first takes a rank's own, and
    what it trains is rank 0's afterwards, as is the count."""
    reasons = [r for r in draft.uniform.of_values.reasons(rate) if isinstance(r, Varies)]
    own = [r.where for r in reasons if not (isinstance(r.where, ast.Attribute) and r.where.attr == _COUNT)]
    trained = {t.call for t in trained_optimizers(draft) if t.call is not None}
    held = [set(draft.values.calls(r.where.value)) for r in reasons if isinstance(r.where, ast.Attribute)]
    if own or not reasons or not all(made and made <= trained for made in held):
        return False
    ways, drivers = draft.drive.ways(rate), {d.loop for d in draft.facts.feeding.drivers}
    return bool(ways) and all(_is_in_each_turn(draft, way, drivers) for way in ways)


def _is_in_each_turn(draft: Draft, way: tuple[Frame, ...], loops: set[Loop]) -> bool:
    """Whether something runs in each turn of one of some loops."""
    for frame in way:
        around = next((a for a in draft.syntax.ancestors(frame.node) if a in loops), None)
        tests = [test for test, _ in draft.syntax.conditions(frame.node)]
        if any(around is None or draft.syntax.inside(test, around) for test in tests):
            return False
        if around is not None:
            return draft.syntax.loops(frame.node)[0] is around
    return False


def _known_before(draft: Draft, rate: ast.expr) -> Iterator[ast.expr]:
    """The names and calls that a rate is made of and that are known once, before training, on all ranks alike."""
    for n in draft.values.depends([rate], 400):
        if not isinstance(n, (ast.Name, ast.Call)) or isinstance(getattr(n, "ctx", None), ast.Store):
            continue
        if draft.facts.feeding.kinds.generator(n) is not None or draft.facts.feeding.pipelines.is_dataset(n):
            continue  # data, which rank 0 can't send
        ways = draft.drive.ways(n)
        once = bool(ways) and not any(
            way[-1].function is not None or any(f.loops for f in way) for way in ways
        )
        if once and isinstance(draft.uniform.of_values.of(n), Varies):
            yield n


def _agree_after(draft: Draft, rate: ast.expr) -> bool:
    """Sends the rate that an optimizer has after a branch that sets it by a file: `if found: opt.lr = saved["lr"]`."""
    statement = draft.syntax.statement(rate)
    match statement:
        case ast.Assign(targets=[ast.Attribute() as kept]):
            pass
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="assign", value=ast.Attribute() as kept))):
            pass
        case ast.Expr(value=ast.Call(func=func, args=[ast.Attribute() as kept, _])) if (
            draft.names.of(func) == SET_VALUE
        ):
            pass
        case _:
            return False
    reasons = [r for r in draft.uniform.of_values.reasons(rate) if isinstance(r, Varies)]
    if draft.in_sessions or kept.attr not in RATES or any(r.kind is not Source.FILES for r in reasons):
        return False
    place = restoring.reached_by_all(draft, statement)
    if place is None or any(frame.loops for way in draft.drive.ways(rate) for frame in way):
        return False
    text = draft.module.text(kept)
    line = f"{text} = {from_root(draft)}(float({text}))"
    edits = restoring.after_restoring(draft, place, statement, line) if draft.once(text, place) else []
    if edits:
        draft.change("C5", rate, _WHAT, _WHY, edits)
        for reason in reasons:
            draft.decide(reason.where, Agreed("C5"))
    return bool(edits)


def _agree(draft: Draft, rate: ast.expr) -> bool:
    """Takes rank 0's where a rate is set; all ranks have the callbacks that set one."""
    if draft.facts.hooks.around(rate) is not None and not draft.syntax.conditions(rate):
        return agree_value(draft, rate, "C5", _WHAT, _WHY, is_reached=True)
    return agree_value(draft, rate, "C5", _WHAT, _WHY)
