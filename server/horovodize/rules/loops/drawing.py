"""Batches that a loop gets by a call (`data.next_batch(64)`, `next(batches)`): part of G4 and S5.

What deals out batches one after another deals out the same on every rank. So all ranks draw alike, size() batches a step, and
each trains on its own of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from horovodize.facts.counting.cursors import moved
from horovodize.facts.differences.sources import SEEDS
from horovodize.facts.feeds.steps import Feed
from horovodize.plan import Decision
from horovodize.python.syntax import (
    FUNCTIONS,
    arguments,
)
from horovodize.rules.drafting.decisions import Decided, Shared, Unit
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.loops import fetched_batches, preparing
from horovodize.rules.loops.dealing_calls import (
    asked_source,
    begins_alike,
    drawn_in,
    is_seen_through,
    shuffles_for_itself,
)
from horovodize.rules.loops.draws_apart import draws_itself
from horovodize.rules.loops.measuring_draws import only_measures
from horovodize.rules.numbers.shares import copied, feeding
from horovodize.rules.numbers.training_steps import steps_of
from horovodize.rules.scaling import strong
from horovodize.rules.weights.target_networks import losses_of
from horovodize.source import Edit
from horovodize.summary.feeding import Driver, Kind
from horovodize.summary.selecting import draws_what_trains

_DRAWS = re.compile("rand|sample|draw|noise", re.I)
ORDER = (
    "it can't be seen in which order this gives its batches, of which each rank takes every size()-th: where it shuffles, it "
    "must do so alike on all ranks"
)
_UNSEEN = (
    "it can't be seen what gives these steps their data: unless that draws at random, every rank gets the same batches, or all "
    "of the data, with a rate for size() of them"
)
_FIRST = (
    "this begins the generator again in each step, and takes its first batch: if that is always the same, all ranks train on "
    "the same rows; begin it once, before the loop"
)
_FAR = 2000  # nodes that what a step is taken on is made of
_WHY_UNSEEN = "Ranks that train on the same rows train something else at size() times the rate."
_WHY = "Dealt in the same order on every rank, the batches would be the same; so each rank takes its own."


def own_batches(draft: Draft, driver: Driver, rule: str, gives_rate: Callable[[ast.Call], bool]) -> None:
    """`next_batch(n)` in a loop that trains: all ranks draw alike, each keeps its own.

    gives_rate: whether a call gives a rate instead, of which all ranks train with the same"""
    if draft.drive.in_traced(driver.loop):
        return
    if feeding(draft).carries_state(driver):
        return
    if any(strong.scaling(draft, step) is not strong.Scaling.WEAK for step in driver.steps):
        return
    drawn = list(drawn_in(draft, driver))
    if not drawn and not has_rows(driver) and _is_unseen(draft, driver):
        draft.ask(rule, driver.loop, "Check what gives these steps their data", _WHY_UNSEEN, _UNSEEN)
    for call in drawn:
        if draft.was(call, Decided) or gives_rate(call) or _is_given_batch(draft, driver, call):
            continue
        if draws_what_trains(feeding(draft), call, [n for s in driver.loop.body for n in ast.walk(s)]):
            continue  # all ranks train the same in a step
        if not _feeds_a_step(draft, driver, call):
            continue  # `print(evaluate(others))`, whichever batches that goes through
        if has_rows(driver) and not feeding(draft).may_train_on(driver, call):
            continue  # rows to show or to measure by
        given = asked_source(call)
        if given is not None and fetched_batches.are_divided(draft, given):
            continue
        draft.decide(call, Shared(rule, Unit.DRAWS))
        edits, doubt = (
            _dealt_out(draft, call, _end_of(draft, driver, call)),
            _FIRST if begins_alike(draft, call) else "",
        )
        draft.change(rule, call, "Give every rank its own batches", _WHY, edits, doubt, Decision.SHARED)
        if not is_seen_through(draft, call):
            draft.note(rule, call, ORDER)
        else:
            made_by = (
                feeding(draft).kinds.generator(given) if given is not None else draft.values.callee(call)
            )
            preparing.tell(draft, rule, call, [made_by])


def _feeds_a_step(draft: Draft, driver: Driver, call: ast.Call) -> bool:
    """Whether a step may be taken on what a call gives. A graph's steps are fed by names."""
    if draft.in_graph:
        return not only_measures(draft, call)
    if not isinstance(draft.values.callee(call), FUNCTIONS):
        return True
    steps = set[ast.AST](steps_of(draft))
    taken = (
        n
        for s in driver.loop.body
        for n in ast.walk(s)
        if isinstance(n, ast.Call) and n is not call and draft.drive.reaches(n, steps)
    )
    given = [e for c in taken for e in arguments(c)]
    made_of = list(draft.values.depends([*losses_of(draft), *given], 2 * _FAR))
    return call in made_of or len(made_of) > _FAR


def ends_loop(draft: Draft, driver: Driver, end: ast.expr) -> bool:
    """Whether a loop goes on by what its batches' source counts: `while train.epochs_done < n` of `train.next_batch(8)`. Where
    the batches of all ranks are drawn in each turn, it ends with a rank's share of the turns."""
    read = [n for n in ast.walk(end) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)]
    return not draft.drive.in_traced(driver.loop) and any(
        isinstance(call.func, ast.Attribute)
        and ast.unparse(n.value) == ast.unparse(call.func.value)
        and _counts(draft, call, n.attr)
        for call in drawn_in(draft, driver)
        for n in read
    )


def _counts(draft: Draft, call: ast.Call, attribute: str) -> bool:
    """Whether the class of a method that deals out batches moves an attribute on there, or can't be seen."""
    callee = draft.values.callee(call)
    owner = draft.syntax.method_class(callee) if isinstance(callee, FUNCTIONS) else None
    if owner is None:
        return callee is None
    names = {attribute, *_returned(owner, attribute)}
    return isinstance(callee, FUNCTIONS) and any(kept.rsplit(".", 1)[-1] in names for kept in moved(callee))


def _returned(owner: ast.ClassDef, name: str) -> Iterator[str]:
    """The attributes that a property gives: `_epochs_completed` of `epochs_completed`."""
    for method in (s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == name):
        yield from (n.attr for n in ast.walk(method) if isinstance(n, ast.Attribute))


def _dealt_out(draft: Draft, call: ast.Call, more: str) -> list[Edit]:
    """`next_batch(n)` → `[next_batch(n) for _ in range(hvd.size())][hvd.rank()]`. `more`: a test whether there are more."""
    turn = "_" if all(n.id != "_" for n in ast.walk(call) if isinstance(n, ast.Name)) else draft.fresh("turn")
    opening, closing = copied(draft, call)
    if more:
        opening, closing = (
            f"{draft.helper('own_batch')}([{opening}",
            f"{closing} for {turn} in range({SIZE}) if {more}])",
        )
        return list(Edit.around(draft.module.span(call), opening, closing))
    return list(
        Edit.around(draft.module.span(call), f"[{opening}", f"{closing} for {turn} in range({SIZE})][{RANK}]")
    )


def _end_of(draft: Draft, driver: Driver, call: ast.Call) -> str:
    """The test of a loop that goes on as long as what deals out its batches has more, `while not data.end():`, as text: a
    draw for another rank beyond the end would fail, or give no rows. Nothing where the source begins again by itself."""
    loop = driver.loop
    if not isinstance(loop, ast.While) or not isinstance(call.func, ast.Attribute):
        return ""
    source = ast.unparse(call.func.value)
    reads = [
        n for n in ast.walk(loop.test) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == source
    ]
    calls = [n for n in ast.walk(loop.test) if isinstance(n, ast.Call)]
    if not reads or any(c.func not in reads for c in calls) or _begins_over(draft, call, bool(calls)):
        return ""
    is_here = draft.syntax.function(call) is draft.syntax.function(loop)
    return draft.module.text(loop.test) if is_here else ""


def _begins_over(draft: Draft, call: ast.Call, is_asked: bool) -> bool:
    """Whether a method that deals out batches goes on with the first ones behind the last: it sets what it moves on back under
    a condition, or counts round. Where it can't be seen, whether it isn't asked if there are more (`is_asked`)."""
    callee = draft.values.callee(call)
    if not isinstance(callee, FUNCTIONS):
        return not is_asked
    kept = moved(callee)
    return any(
        any(isinstance(t, ast.expr) and ast.unparse(t) in kept for t in _targets(s))
        and (draft.syntax.conditions(s) or any(isinstance(m, ast.Mod) for m in ast.walk(s)))
        for s in ast.walk(callee)
        if isinstance(s, ast.Assign)
    )


def _targets(statement: ast.Assign) -> Iterator[ast.AST]:
    return (n for target in statement.targets for n in ast.walk(target))


def _is_unseen(draft: Draft, driver: Driver) -> bool:
    """Whether nothing is known of what feeds the steps of a loop: a function of a module that isn't read gives it."""
    steps = [draft.facts.steps.of(step) for step in driver.steps]
    feeds = {step.feed for step in steps}
    if feeding(draft).next_calls(driver):
        return False
    if feeds == {Feed.BATCH}:  # by its name: `helpers.make_batch(16)`
        batches = [b for step in steps for b in step.batches]
        return bool(batches) and all(_is_unread(draft, driver, b) for b in batches)
    if feeds != {Feed.UNSEEN}:
        return False
    fed = [a for step in driver.steps for a in arguments(step)]
    given = [o.node for a in fed for o in draft.values.origins(a)]
    if draft.in_graph:  # by names, in a dictionary
        given = [step.node for step in steps if step.node is not step.site]
    calls = [n for n in given if isinstance(n, ast.Call)]
    return any(draft.values.callee(c) is None and not _is_known(draft, c) for c in calls)


def _is_unread(draft: Draft, driver: Driver, batch: ast.AST) -> bool:
    """Whether a batch is given in a loop by a function of a module that isn't read, which is told nothing that is drawn
    there; not by a graph's queue or iterator, of which other rules ask, unless such a function has made that."""
    if not isinstance(batch, ast.Call) or not draft.syntax.inside(batch, driver.loop):
        return False
    if batch in draft.sites.graph.all_runs:
        return _fetches_unread(draft, batch)
    if draft.values.callee(batch) is not None or _is_known(draft, batch):
        return False
    if isinstance(batch.func, ast.Attribute) and shuffles_for_itself(draft, batch.func.value):
        return False
    told = list(draft.values.depends(arguments(batch), _FAR))
    calls = [n for n in told if isinstance(n, ast.Call) and draft.syntax.inside(n, driver.loop)]
    drawn = any(draws_itself(draft, call) for call in calls)
    return len(told) < _FAR and not drawn and not draft.was(batch, Shared)


def _fetches_unread(draft: Draft, run: ast.Call) -> bool:
    """Whether a session fetches, to feed it, what a function has made that isn't read: `x, y = reader.inputs(32)`."""
    whole = draft.sites.graph.fetches(run)
    parts = whole.elts if isinstance(whole, (ast.List, ast.Tuple)) else [whole]
    made = [o.node for e in parts for o in draft.values.origins(e)]
    calls = [n for n in made if isinstance(n, ast.Call) and draft.names.of(n.func) is not None]
    return any(draft.values.callee(c) is None and not _is_known(draft, c) for c in calls)


def _is_known(draft: Draft, call: ast.Call) -> bool:
    """Whether a call is of TensorFlow, NumPy or Python itself, or draws by its name, where the script gives no seed."""
    name = draft.names.of(call.func) or ""
    library = name.startswith(("tensorflow.", "numpy.", "random.")) or draft.module.scopes.is_builtin(
        call.func
    )
    if library or not _DRAWS.search(draft.names.last(call.func)):
        return library
    known = draft.uniform.draws
    return not any(known.gives_seed(c) and not known.is_undone(c) for c in draft.module.calls_of(*SEEDS))


def _is_given_batch(draft: Draft, driver: Driver, call: ast.Call) -> bool:
    """Whether a call makes something of the batch that the loop iterates, or selects: `get_batch(batch, model)`."""
    if isinstance(driver.loop, ast.While) or (driver.kind is Kind.RANGE and not driver.indexed):
        return False
    own = {n.id for n in ast.walk(driver.loop.target) if isinstance(n, ast.Name)}
    own |= draft.facts.dealt.names(driver)
    return any(isinstance(n, ast.Name) and n.id in own for n in ast.walk(call))


def has_rows(driver: Driver) -> bool:
    """Whether a loop goes through rows by itself, so that what it draws comes beside them."""
    return driver.indexed or driver.kind not in (Kind.RANGE, Kind.UNKNOWN)
