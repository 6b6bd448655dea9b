"""G4: loops over batches of any kind, and over several things at a time: each rank takes its own of them."""

from __future__ import annotations

import ast

from horovodize.facts.counting.turn_uses import uses_of
from horovodize.facts.differences.known_calls import is_known
from horovodize.python.variables import bound_names
from horovodize.rules.drafting.decisions import Fewer, OfAll, Shared, Unit
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import (
    dealt_counts,
    dealt_numbers,
    fetched_batches,
    gathered_batches,
    generators,
    own_loaders,
    preparing,
)
from horovodize.rules.loops.counted_ranges import counts_from, divide_from
from horovodize.rules.loops.dealing_calls import shuffles_for_itself
from horovodize.rules.loops.drawing import ORDER
from horovodize.rules.loops.ranges import EVERYTHING, deal_pairs
from horovodize.rules.numbers import loop_exits
from horovodize.rules.numbers.shares import WHY, change_count, counts_a_share, draws_for_itself, feeding, wrap
from horovodize.rules.rows import alike_shuffles
from horovodize.rules.scaling import strong
from horovodize.summary.feeding import Driver, Kind

_BESIDE = "the data set beside it is divided by rows, not by batches: check that their batches needn't belong together"


def divide_zipped(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """`zip(range(n), dataset)`: the datasets are divided where they are made, a number of steps is here. Other batches beside a
    number are dealt out, so that the number goes on by one with each turn of a rank. Whether nothing else is zipped."""
    zipped = (
        e.args if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "zip" else [e]
    )
    others = [z for z in zipped if not feeding(draft).pipelines.is_dataset(z)]
    counts = [loop_exits.counted(draft, z) for z in others]
    spans = [span for z in others if (span := counts_from(draft, z)) is not None]
    dealt = [z for z, count in zip(others, counts, strict=True) if count is None and z not in spans]
    if dealt and (len(others) != len(zipped) or not _only_counts(draft, driver, zipped, dealt)):
        return False
    if not dealt and len(others) == len(zipped):
        return False
    for batches in dealt:
        if not _is_given_apart(draft, batches):
            _deal(draft, driver, batches, batches)
    for count in counts:
        if isinstance(count, ast.expr) and not counts_a_share(draft, count):
            change_count(draft, draft.loop_rule, count)
    for span in spans:
        divide_from(draft, driver, span, draft.loop_rule)
    return True


def _only_counts(draft: Draft, driver: Driver, zipped: list[ast.expr], dealt: list[ast.expr]) -> bool:
    """Whether there are numbers beside batches, and no data are selected by them."""
    targets = (
        driver.loop.target.elts
        if isinstance(driver.loop, ast.For) and isinstance(driver.loop.target, ast.Tuple)
        else []
    )
    numbers = [t for t, z in zip(targets, zipped, strict=False) if z not in dealt]
    uses = [uses_of(feeding(draft), driver.loop, t.id) for t in numbers if isinstance(t, ast.Name)]
    return 0 < len(numbers) == len(uses) and all(u is not None and not u.selecting for u in uses)


def deal(draft: Draft, driver: Driver, e: ast.expr) -> None:
    if draft.drive.in_traced(driver.loop):
        said = f"this loop runs inside a `tf.function` and is not divided: {EVERYTHING}"
        draft.note(draft.loop_rule, e, said)
        strong.leave_loop(draft, driver)
        return
    if isinstance(driver.loop, ast.AsyncFor):
        draft.note(draft.loop_rule, e, f"this loop awaits its batches and is not divided: {EVERYTHING}")
        strong.leave_loop(draft, driver)
        return
    if fetched_batches.are_divided(draft, e):
        draft.decide(driver.loop, Fewer(draft.loop_rule))
        return
    numbered = draft.facts.dealt.numbered(driver)
    if (
        gathered_batches.leave(draft, driver, e)
        or _deal_beside(draft, e)
        or deal_pairs(draft, driver, e, draft.loop_rule)
    ):
        return
    if numbered is None and _divide_sliced(draft, e):
        return
    if numbered is None and _is_given_apart(draft, e):
        if not draws_for_itself(draft, e):
            dealt_numbers.tell(draft, driver, e)
        return
    if numbered is None and own_loaders.divide(draft, driver, e):
        dealt_numbers.tell(draft, driver, e)
        return
    _deal(draft, driver, e, numbered or e)


def _is_given_apart(draft: Draft, e: ast.expr) -> bool:
    """Divides a generator where it goes through its numbers, or leaves one that draws other batches on each rank. Whether one
    of the two could be done."""
    if generators.divide_inside(draft, draft.loop_rule, e):
        alike_shuffles.shuffle_alike(draft, e)
        return True
    if shuffles_for_itself(draft, e) and not draft.was(e, Shared):  # without end
        draft.decide(e, Shared(draft.loop_rule, Unit.OWN))
        draft.divided = True
        return True
    return generators.differs_by_rank(draft, draft.loop_rule, e)


def _divide_sliced(draft: Draft, e: ast.expr) -> bool:
    """`islice(batches(), n)` of such a generator: each rank takes its share of the number. Whether it could be done."""
    is_slice = isinstance(e, ast.Call) and draft.names.of(e.func) == "itertools.islice"
    if not is_slice or not isinstance(e, ast.Call) or len(e.args) != 2 or e.keywords:
        return False
    if not _is_given_apart(draft, e.args[0]):
        return False
    unit = Unit.OWN if draws_for_itself(draft, e.args[0]) else Unit.STEPS
    draft.decide(e, Shared(draft.loop_rule, unit))
    if not counts_a_share(draft, e.args[1]):
        change_count(draft, draft.loop_rule, e.args[1])
    return True


def _deal(draft: Draft, driver: Driver, e: ast.expr, wrapped: ast.expr) -> None:
    """Deals out what a loop iterates, or a part of it."""
    edits = wrap(draft, wrapped, "shard_batches", draft.loop_rule)
    if edits:
        unclear = driver.kind is Kind.UNKNOWN and feeding(draft).kinds.is_opaque(e)
        doubt = "it can't be seen what this loop iterates; all ranks must get equally many batches from it"
        what = "Give every rank its own batches"
        asked = (
            dealt_counts.ASKED if dealt_counts.goes_by_them(draft, driver, e) else doubt if unclear else ""
        )
        draft.change(draft.loop_rule, e, what, WHY, edits, doubt=asked)
        alike_shuffles.shuffle_alike(draft, e)
        dealt_numbers.tell(draft, driver, e)
        _keep_own(draft, driver)
        if _is_made_elsewhere(draft, e):
            draft.note(draft.loop_rule, e, ORDER)
        else:
            preparing.tell(draft, draft.loop_rule, e, preparing.givers(draft, e))


def _keep_own(draft: Draft, driver: Driver) -> None:
    """Keeps the numbers that select the rows of a turn as they are, where they are dealt out: `for a, b in zip(range(0, n, 32),
    range(32, n + 1, 32))` gives each rank those of its own batches."""
    loop = driver.loop
    for name in sorted(bound_names(loop.target)) if not isinstance(loop, ast.While) else ():
        uses = uses_of(feeding(draft), loop, name)
        for use in uses.selecting if uses is not None else ():
            draft.decide(use, OfAll(draft.loop_rule))


def _is_made_elsewhere(draft: Draft, e: ast.expr) -> bool:
    """Whether a function of a module that is not read makes what is iterated."""
    made = (o.node for o in draft.values.origins(e) if isinstance(o.node, ast.Call))
    names = (draft.names.of(c.func) for c in made if draft.values.callee(c) is None)
    return any(name is not None and not is_known(name) for name in names)


def _deal_beside(draft: Draft, e: ast.expr) -> bool:
    """`zip(dataset, cycle(others))`, where the data set is divided already where it is made: each rank takes its own batches of
    what goes beside it. Whether it is such a zip."""
    zipped = e.args if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "zip" else []
    pipelines = feeding(draft).pipelines
    divided = [z for z in zipped if any(draft.was(t, Shared) for t in pipelines.trail(z))]
    for beside in (z for z in zipped if z not in divided) if divided else ():
        edits = wrap(draft, beside, "shard_batches", draft.loop_rule)
        if edits:
            endless = isinstance(beside, ast.Call) and draft.names.last(beside.func) == "cycle"
            doubt = "" if endless else _BESIDE
            draft.change(draft.loop_rule, beside, "Give every rank its own batches", WHY, edits, doubt=doubt)
            alike_shuffles.shuffle_alike(draft, beside)
    return bool(divided)
