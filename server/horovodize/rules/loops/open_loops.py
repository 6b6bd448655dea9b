"""G4: loops that go on until something in them says when to end: `while step < n`, `for step in itertools.count()`."""

from __future__ import annotations

import ast

from horovodize.catalogue import is_hook
from horovodize.facts.counting.counter_kinds import CounterKind
from horovodize.facts.counting.cursors import Cursor, cursors_of
from horovodize.facts.counting.one_turn import OneTurn
from horovodize.facts.differences.exits import exits, tests
from horovodize.python.comparisons import faced
from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import Fewer, Shared, Unseen
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import cursors, held_numbers
from horovodize.rules.loops.counted_ranges import counts_ranks
from horovodize.rules.loops.drawing import ends_loop
from horovodize.rules.loops.ranges import EVERYTHING
from horovodize.rules.numbers import loop_exits
from horovodize.rules.numbers.shares import change_count, counts_a_share, feeding, is_none
from horovodize.rules.resuming import restored_iterations, resume
from horovodize.rules.scaling import strong
from horovodize.source.nodes import names_in
from horovodize.summary.feeding import Driver

_SAME_ROWS = "the last step is divided, but a count of this loop's own selects the rows, and all ranks would feed the same"
_ONE_TURN = f"this loop takes one turn each time, so it is not divided: {EVERYTHING}"
_UNCOUNTED = f"it can't be seen how many steps this loop takes, so it is not divided: {EVERYTHING}"


def divide_endless(draft: Draft, driver: Driver, e: ast.expr) -> None:
    """`for step in itertools.count(): … if step >= n: break`; rows that are selected by such a number stay the same on all
    ranks."""
    if driver.indexed or cursors_of(feeding(draft), driver):
        strong.leave(draft, driver.steps)
        draft.note(draft.loop_rule, e, _UNCOUNTED)
    elif not loop_exits.divide_exits(draft, driver.loop, draft.loop_rule):
        _leave_uncounted(draft, driver, e)


def divide_while(draft: Draft, driver: Driver, loop: ast.While) -> None:
    """`while step < n` with `step += 1` in its body."""
    found = cursors_of(feeding(draft), driver)
    hooked = "should_stop" in ast.unparse(loop.test) and _has_stop_hook(draft)
    if hooked and any(c.step is None or not draft.can_insert(loop.body[0]) for c in found):
        draft.refuse(
            "HVD006",
            loop,
            f"{_SAME_ROWS}; let every turn move `{found[0].name}` on alike, after what it selects",
        )
        return
    if any(c.held for c in found) and held_numbers.may_divide(draft, driver, loop, found):
        before = len(draft.changes)
        _divide_turns(draft, driver, loop)
        if len(draft.changes) > before or draft.was(loop, Fewer):
            held_numbers.select(draft, loop, found[0])
        return
    if cursors.note_unsteady(draft, driver, found, draft.loop_rule):
        return
    if (
        found
        and OneTurn(draft.module, draft.facts.steps.shapes).is_of(loop)
        and strong.leave_loop(draft, driver)
    ):
        draft.note(draft.loop_rule, loop.test, _ONE_TURN)
        return
    if found and all(c.restart is not None for c in found):
        return _divide_again_and_again(draft, driver, loop, found)
    if found and hooked:
        return cursors.select_own(draft, driver, found, "", draft.loop_rule)
    if found and not cursors.divide_test(draft, loop, found, draft.loop_rule):
        _leave_uncounted(draft, driver, loop.test)
    elif not found:
        _divide_turns(draft, driver, loop)


def _divide_again_and_again(draft: Draft, driver: Driver, loop: ast.While, found: list[Cursor]) -> None:
    """`while step < n` beside cursors that begin again; `while epoch < n` ends by how often they do, which is as often for the
    rows that are seen."""
    counted = {name for c in found if c.restart is not None for name in c.restart.also_sets()}
    left_by = [test for leaving in exits(loop) for test in tests(draft.syntax, leaving, loop)]
    by_cycles = [names_in(test) <= counted for test in left_by]
    ends = isinstance(loop.test, ast.Constant) and left_by and all(by_cycles)
    before = len(draft.changes)
    cursor_names = {c.name for c in found}
    if any(names_in(test) & cursor_names for test in (loop.test, *left_by)):
        _leave_uncounted(draft, driver, loop.test)
    elif not ends and any(names_in(test) & counted for test in left_by):
        _leave_uncounted(draft, driver, loop.test)
    elif ends or names_in(loop.test) & counted:
        draft.divided = True
        draft.decide(loop, Fewer(draft.loop_rule))
        cursors.select_own(draft, driver, found, "", draft.loop_rule)
    else:
        _divide_turns(draft, driver, loop)
        if len(draft.changes) > before or draft.was(loop, Fewer):
            cursors.select_own(draft, driver, found, "", draft.loop_rule)


def _divide_turns(draft: Draft, driver: Driver, loop: ast.While) -> None:
    test = loop.test
    if resume.ends_by_stored(draft, driver):
        return  # the count goes on faster instead
    if feeding(draft).next_calls(driver):
        shared = [
            f
            for f in feeding(draft).next_calls(driver)
            if any(draft.was(e, Shared) for e in feeding(draft).pipelines.trail(f))
        ]
        if shared and isinstance(test, ast.Constant):
            return  # it ends with the rank's share
    stops = isinstance(test, ast.Constant) or "should_stop" in ast.unparse(test)
    if stops and loop_exits.divide_exits(draft, loop, draft.loop_rule):
        found = (test for leaving in exits(loop) for test in tests(draft.syntax, leaving, loop))
        return _tell_restored(draft, loop, list(found))
    if isinstance(test, ast.Constant) and any(
        _ends_with_its_share(draft, f) for f in feeding(draft).graph_feeds
    ):
        return
    if ends_loop(draft, driver, test):
        draft.decide(loop, Fewer(draft.loop_rule))
        draft.divided = True
        return _tell_restored(draft, loop, [test])
    for part in loop_exits.parts_of(draft, test, ast.And):
        sides = faced(part, (ast.Lt, ast.LtE))
        if (
            sides is not None
            and (loop_exits.counts(draft, loop, sides[0]) or _adds_up(draft, driver, sides[0]))
            and not counts_a_share(draft, sides[1])
        ):
            change_count(draft, draft.loop_rule, sides[1])
            return _tell_restored(draft, loop, [test])
    if "should_stop" in ast.unparse(test) and (_is_stopped(draft) or _ends_by_own_hook(draft, driver)):
        return
    _leave_uncounted(draft, driver, loop.test)


def _tell_restored(draft: Draft, loop: ast.While, ends: list[ast.expr]) -> None:
    """Says that what TensorFlow counts is a rank's steps, where a loop ends by it and a checkpoint gives it back."""
    if restored_iterations.goes_on(draft) and any(counts_ranks(draft, end) for end in ends):
        draft.note(draft.loop_rule, loop, restored_iterations.STORED)


def _adds_up(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """`seen` of `while seen < total: … seen += batch_size`"""
    counter = draft.facts.counters.of(e)
    return counter is not None and counter.kind is CounterKind.NUMBER and driver in counter.drivers


def _leave_uncounted(draft: Draft, driver: Driver, end: ast.expr) -> None:
    """`end`: by what the loop goes on."""
    if strong.leave_loop(draft, driver):
        draft.note(draft.loop_rule, end, _UNCOUNTED)
    else:
        draft.decide(driver.loop, Unseen(draft.loop_rule, end))


def _is_stopped(draft: Draft) -> bool:
    """Whether a MonitoredSession stops after its share: at a hook's step (M3), or with the data."""
    if _has_stop_hook(draft):
        return True
    return any(_ends_with_its_share(draft, f) for f in feeding(draft).graph_feeds)


def _ends_by_own_hook(draft: Draft, driver: Driver) -> bool:
    """Whether a hook of the program's own stops the sessions of a loop after so many steps, which are divided there (G5)."""
    counters, syntax = draft.facts.counters, draft.syntax
    owners = [(c, syntax.method_class(syntax.function(c))) for c in draft.module.calls_called("request_stop")]
    stops = [c for c, o in owners if o is not None and any(map(is_hook, draft.values.ancestors(o)))]
    tests = [t.test for c in stops for t, arm in syntax.conditions(c) if arm == "body"]
    found = [loop_exits.compared(t, (ast.Gt, ast.GtE, ast.Eq)) for t in tests]
    counted = [counters.of(end[0]) for end in found if end is not None]
    if not any(c is not None and driver in c.drivers for c in counted):
        return False
    draft.divided = True
    draft.decide(driver.loop, Fewer(draft.loop_rule))
    return True


def _has_stop_hook(draft: Draft) -> bool:
    return any(draft.names.last(c.func) == "StopAtStepHook" for c in draft.syntax.calls)


def _ends_with_its_share(draft: Draft, feed: ast.expr) -> bool:
    """Whether a divided dataset comes to an end, and the loop over it with it."""
    pipelines = feeding(draft).pipelines
    endless = any(
        draft.names.last(s.func) == "repeat" and is_none(argument(s, "count", 0))
        for s in pipelines.steps(feed)
    )
    return not endless and any(draft.was(e, Shared) for e in pipelines.trail(feed))
