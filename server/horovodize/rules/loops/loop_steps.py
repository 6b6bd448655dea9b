"""G4: divides the steps of loops that are written by hand, each by what it goes through."""

from __future__ import annotations

import ast
from functools import partial

from horovodize.facts.counting.cursors import cursors_of
from horovodize.python.syntax import COMPREHENSIONS, argument
from horovodize.rules.deciding.lockstep import keep_in_step
from horovodize.rules.drafting.decisions import Fewer, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import (
    batch_loops,
    cursors,
    gathered_beside_all,
    numbers_beside_batches,
    open_loops,
)
from horovodize.rules.loops.counted_ranges import divide_rest
from horovodize.rules.loops.drawing import own_batches
from horovodize.rules.loops.few_steps import are_one
from horovodize.rules.loops.ranges import EVERYTHING, divide_range
from horovodize.rules.numbers import loop_exits
from horovodize.rules.numbers.shares import PLENTY, begins, change_count, counts_a_share, feeding
from horovodize.rules.rates import learning_rate
from horovodize.rules.resuming import numbered_on
from horovodize.rules.rows import arrays, data, global_batch
from horovodize.rules.rows.own_experience import played, plays
from horovodize.rules.scaling import strong
from horovodize.rules.sums import averages, averages_by_numbers, filled_places
from horovodize.summary.feeding import Driver, Kind

_IN_ORDER = (
    f"each step goes on from the state of the one before, so the batches are not divided: {EVERYTHING}; give each rank a "
    "stretch of the data of its own"
)
_METHOD = (
    "the weights are set here from what the steps before made of them, so the number of those steps is part of the method and "
    "can't be divided among the ranks, and each rank kept other weights from before them"
)
_WHAT_BESIDE = "Check the step that is taken beside those of the batches"
_WHY_BESIDE = "The loop over the batches is divided among the ranks, and their rate grows; this step comes as often as alone."
_BESIDE = (
    "this step is taken as often as alone, beside those on each rank's share of the batches, and by the same, larger rate: let "
    "each rank take it on rows of its own, or check that this is meant"
)


def divide_loops(draft: Draft) -> None:
    if draft.once("keep in step", draft.module.tree):
        keep_in_step(draft)  # whether or not the data is divided
    if not begins(draft, "G4"):
        return
    data.apply(draft)
    arrays.apply(draft)
    known = feeding(draft)
    own = played(draft)
    of_one = list[ast.expr]()
    for feed in (f for f in known.dataset_feeds if f not in own):
        if not draft.facts.undivided.is_whole(feed) and not draft.facts.steps.is_one_batch(feed):
            of_one += _divide_takes(draft, feed)
    for driver in known.drivers:
        if strong.divide(draft, draft.loop_rule, driver.steps):
            continue
        if plays(draft, draft.loop_rule, driver.steps):
            continue
        if draft.options.keeps_batch:
            global_batch.divide(draft, draft.loop_rule, driver.steps)
            continue
        if strong.takes_one_batch(draft, draft.loop_rule, driver.steps):
            continue
        before = len(draft.changes)
        _divide_driver(draft, driver)
        of_one += _one_taken(draft, driver)
        if len(draft.changes) > before:
            draft.decide(driver.loop, Fewer(draft.loop_rule))
            averages.keep(draft, driver, draft.loop_rule)
        if driver.kind is Kind.DATASET:
            averages.keep_of_dataset(draft, driver, draft.loop_rule)
            averages_by_numbers.keep(draft, driver, draft.loop_rule)
        own_batches(draft, driver, draft.loop_rule, partial(learning_rate.gives_rate, draft))
        if len(draft.changes) > before:
            filled_places.ask(draft, driver, draft.loop_rule)
            gathered_beside_all.ask(draft, driver, draft.loop_rule)
    for count in of_one:
        if not _is_in_fewer_turns(draft, count):
            are_one(draft, draft.loop_rule, count)
    numbered_on.count_all(draft)
    numbers_beside_batches.decide_together(draft)
    for site in known.undriven:
        if strong.divide(draft, draft.loop_rule, [site]) or plays(draft, draft.loop_rule, [site]):
            continue
        if draft.options.keeps_batch:
            global_batch.divide(draft, draft.loop_rule, [site])
            continue
        strong.leave(draft, [site])
        draft.note(
            draft.loop_rule,
            site,
            f"{_why_undriven(draft, site)}, so it is not divided, and its rate stays: {EVERYTHING}",
        )
    for call in dict.fromkeys(known.beside) if draft.divided else ():
        draft.ask(draft.loop_rule, call, _WHAT_BESIDE, _WHY_BESIDE, _BESIDE)


def _why_undriven(draft: Draft, site: ast.Call) -> str:
    around = [a for way in draft.drive.ways(site) for f in way for a in draft.syntax.ancestors(f.node)]
    if any(isinstance(a, COMPREHENSIONS) for a in around):
        return "this step is taken inside a comprehension"
    if any(isinstance(a, ast.Lambda) for a in around):
        return "this step is taken by a `lambda`, whose calls are not followed"
    if any(f.loops for way in draft.drive.ways(site) for f in way):
        return "the loops around this step are short, or choose what is trained: none brings it its data"
    return "the loop that runs this step is not in this file"


def _divide_takes(draft: Draft, feed: ast.expr) -> list[ast.expr]:
    """`take(n)` of batches, or of a pipeline that repeats, counts steps. The counts that are one, which can't be divided."""
    pipelines, of_one = feeding(draft).pipelines, list[ast.expr]()
    for step in pipelines.steps(feed):
        count = argument(step, "count", 0)
        assert isinstance(step.func, ast.Attribute)
        if (
            step.func.attr != "take"
            or count is None
            or draft.was(step, Shared)
            or not pipelines.grouped_before(step)
        ):
            continue
        if (
            isinstance(count, ast.UnaryOp)
            or _is_divided_after(draft, step, feed)
            or counts_a_share(draft, count)
        ):
            continue
        if divide_rest(draft, count, draft.loop_rule):
            continue
        if feeding(draft).kinds.constant(count) == 1:
            of_one.append(count)
        elif not are_one(draft, draft.loop_rule, count):
            change_count(draft, draft.loop_rule, count)
    return of_one


def _one_taken(draft: Draft, driver: Driver) -> list[ast.expr]:
    """The one of `for x, y in data.take(1):`, where `data` can't be seen: all ranks are dealt that one batch."""
    e = driver.iterable
    if isinstance(e, ast.Call) and draft.names.last(e.func) == "enumerate" and e.args:
        e = e.args[0]
    if driver.kind is Kind.DATASET or not isinstance(e, ast.Call) or not isinstance(e.func, ast.Attribute):
        return []
    count = argument(e, "count", 0) if e.func.attr == "take" else None
    return [count] if count is not None and feeding(draft).kinds.constant(count) == 1 else []


def _is_in_fewer_turns(draft: Draft, count: ast.expr) -> bool:
    """Whether `for x in dataset.take(1):` stands in a loop that takes fewer turns on ranks already, for another step of it: the
    critic's, beside its generator's."""
    return any(draft.was(loop, Fewer) for loop in draft.syntax.loops(count))


def _is_divided_after(draft: Draft, step: ast.Call, feed: ast.expr) -> bool:
    """Whether a pipeline is divided at or after one of its steps, on its way to what feeds the training."""
    trail = feeding(draft).pipelines.trail
    around = [a for a in draft.syntax.ancestors(step) if isinstance(a, ast.expr)]
    return any(draft.was(a, Shared) for a in (step, *around)) or any(
        draft.was(e, Shared) and step in trail(e) for e in trail(feed)
    )


def _divide_driver(draft: Draft, driver: Driver) -> None:
    if feeding(draft).carries_state(driver):
        return _leave_in_order(draft, driver)
    method = draft.facts.undivided.set_back(driver)
    if method is not None:
        draft.refuse("HVD006", method, _METHOD)
        return
    if draft.facts.undivided.is_loop(driver):
        return  # said where the data come from
    if feeding(draft).bound_batches.carries_layers_state(driver):
        return _leave_in_order(draft, driver)
    if isinstance(driver.loop, ast.While):
        return open_loops.divide_while(draft, driver, driver.loop)
    e = driver.iterable
    if e is None:
        return
    if feeding(draft).kinds.is_endless(e):
        return open_loops.divide_endless(draft, driver, e)
    if driver.kind is Kind.RANGE:
        return _divide_range(draft, driver, e)
    if driver.kind is not Kind.DATASET and not batch_loops.divide_zipped(draft, driver, e):
        batch_loops.deal(draft, driver, e)
    cursors.select_beside(draft, driver, draft.loop_rule)
    loop_exits.divide_ends(draft, driver, draft.loop_rule)


def _leave_in_order(draft: Draft, driver: Driver) -> None:
    """Says of a loop that its batches can't be dealt out: a recurrent network's state goes from each to the next."""
    strong.leave(draft, driver.steps)
    draft.note(draft.loop_rule, driver.loop, _IN_ORDER)


def _divide_range(draft: Draft, driver: Driver, e: ast.expr) -> None:
    rule = draft.loop_rule
    found = [] if driver.indexed else cursors_of(feeding(draft), driver)
    if cursors.note_unsteady(draft, driver, found, rule):
        return
    before, counted = len(draft.changes), _counted(draft, driver, e)
    divide_range(draft, driver, e, rule)
    if len(draft.changes) > before and driver.indexed:
        cursors.select_beside(draft, driver, rule)
    elif len(draft.changes) > before:
        cursors.select_own(draft, driver, found, counted, rule)


def _counted(draft: Draft, driver: Driver, e: ast.expr) -> str:
    """How many turns a loop over a range has, as an expression; nothing where they are many."""
    if not isinstance(e, ast.Call):
        return f"len({draft.module.text(e)})"
    known = feeding(draft).kinds.constant(e.args[-1])
    return "" if known is not None and known >= 2 * PLENTY else f"len({draft.module.text(e)})"
