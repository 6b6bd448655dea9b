"""G6 resume: a program that goes on from a checkpoint goes on at the same row, and takes no step once it is through.

What it does   A count of steps that is kept with a checkpoint (`tf.train.Checkpoint(step=tf.Variable(0), …)`, a number that
               begins at such a one, that is read from the name of a checkpoint or another file that is found, or from a file
               that the program writes) goes on
               by the steps of all ranks: `step.assign_add(hvd.size())`. What it is compared with (`while step < STEPS`) and
               computed from it (a rate, an epoch) stays as it is; the length of a rank's own data beside it becomes that of all
               ranks. A count of rows (`seen += len(batch)`) counts those of all ranks likewise, whether it is kept or not. So
               does a loop that goes on from some step: `range(start, STEPS,
               hvd.size())`, also one whose number selects rows. An epoch that is computed from what an optimizer or a graph
               counts is computed from the steps that a rank takes in one, or from that count times `hvd.size()`. Once such a
               variable is restored, all ranks have rank 0's; so have they a number of epochs by which a turn is left out (`if
               epoch < done: continue`), and what was read from a file before a loop that is left by it: the best loss so
               far, how long nothing got better. Where an epoch is computed from such a number (`first = count // batches`), the
               number is that of one process after each epoch, whatever batches of it are left out so that all ranks take
               equally many; where that can't be done, it is said.
Why            Counted by a rank alone, the stored number would be compared with how many steps one process takes, and a run
               with another number of ranks could not go on from it.
Before         while int(checkpoint.step) < 1000:
                   train_step(*next(batches))
                   checkpoint.step.assign_add(1)
After          while int(checkpoint.step) < 1000:
                   train_step(*next(batches))
                   checkpoint.step.assign_add(hvd.size())
Leaves alone   Epochs. Counters that no checkpoint keeps: what they are compared with is divided (G4, G5).
               What TensorFlow itself counts (a graph's global step, an optimizer's iterations) counts a rank's steps: it is
               said where a loop goes on from it, or a schedule. Where the checkpoint keeps a count of the program's own
               beside, an optimizer with a schedule has its count set by that, for any number of ranks. A rate that comes back
               with an optimizer is that of as many ranks as saved it, which is said; all ranks go on with rank 0's.
Asks           Where a checkpoint keeps an iterator over shuffled rows: its buffer is of rank 0's.
Source         Beyond the seed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.records import gives_record
from horovodize.facts.counting.row_counts import is_number_of_rows, is_setting_of_rows
from horovodize.facts.counting.variable_additions import amount_added
from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.augmented import augmented
from horovodize.python.comparisons import faced
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function, arguments, position
from horovodize.python.values import Origin
from horovodize.rules.counts import lengths_beside_counts
from horovodize.rules.drafting import told
from horovodize.rules.drafting.decisions import Agreed, Counted, Divided, Fewer, Strided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.numbers import counted, rate_reads
from horovodize.rules.numbers.shares import begins
from horovodize.rules.resuming import (
    begun_iterations,
    begun_within,
    computed_epochs,
    epoch_ends,
    read_before,
    restored_fields,
    restored_iterations,
    restoring,
)
from horovodize.rules.together.any_rank_test import agree, can_agree, differing
from horovodize.rules.weights import steered
from horovodize.source import Edit
from horovodize.summary.call_paths import Frame
from horovodize.summary.feeding import Driver

_WHAT = "Let each step count for those of all ranks"
_WHY = "A step takes size() batches; so counted, a later run goes on at the same row, whatever its number of ranks."
_WHY_ROWS = "A step takes size() batches: so many rows more have been seen."
_WHY_MEASURED = "Ranks whose batches have other numbers of rows would take other numbers of steps."
_AGREE = "Go on from rank 0's step on all ranks"
_WHY_AGREE = (
    "Ranks on other hosts may have no checkpoint, or an older one: they would take other numbers of steps."
)
_AGREE_NUMBER = "Go on with rank 0's number on all ranks"
_WHY_NUMBER = (
    "Ranks on other hosts may have no checkpoint, or an older one: they would decide by another number."
)
_SCHEDULE = "Ask the schedule for the rate of a rank's step"
_WHY_SCHEDULE = "The schedule's steps are divided, as an optimizer counts a rank's."
_NOT_ALIKE = (
    "this count goes on in a later run, but not all that it counts is divided; check where a run goes on"
)
_ITERATORS = "Look at what is kept of the order of the rows"
_BUFFERS = (
    "only rank 0 saves this, with the rows that wait in its shuffle buffer: in a later run all ranks go on with these, and see "
    "the same rows until they are through; leave the iterator out of the checkpoint on several ranks, or let each rank save "
    "one in a file of its own"
)
_UNSENT = (
    "other hosts may have no checkpoint to make this from, or an older one: let all ranks go on from rank 0's"
)
_LESS = (ast.Lt, ast.LtE)
_MORE = (ast.Gt, ast.GtE, ast.Eq)


def apply(draft: Draft) -> None:
    if not begins(draft, "G6") or not draft.divided:
        return
    for counter in draft.facts.counters.listed.of_rows:
        if not counter.stored and counted.counts_share(draft, counter):
            _stride(draft, counter, _WHY_ROWS)
    for counter in draft.facts.counters.listed.stored:
        if counted.counts_share(draft, counter):
            _stride(draft, counter)
            lengths_beside_counts.tell_starts(draft, counter.starts, "G6")
            epoch_ends.count_whole(draft, counter)
        elif any(counted.is_divided(draft, d) for d in counter.drivers):
            draft.note("G6", counter.advances[0], _NOT_ALIKE)
    restored_iterations.tell_begun(draft)
    for kept in draft.facts.kept.all:
        if _waits_in_a_buffer(draft, kept) and draft.once("kept iterator", kept):
            draft.ask("G6", kept, _ITERATORS, _WHY, _BUFFERS)
    if draft.having(Strided):
        for plus in draft.syntax.every(ast.BinOp):
            if isinstance(plus.op, ast.Add) and _is_one(plus.right) and counted.all_of(draft, plus.left):
                _go_on(draft, plus.right)
        lengths_beside_counts.tell(draft, "G6")
    begun_iterations.divide(draft)
    begun_within.divide(draft)
    for ratio in draft.syntax.every(ast.BinOp) if draft.facts.counters.exist else ():
        if isinstance(ratio.op, (ast.FloorDiv, ast.Div)):
            computed_epochs.compute(draft, ratio)


def _waits_in_a_buffer(draft: Draft, kept: ast.expr) -> bool:
    """Whether what a checkpoint keeps, and restores, is an iterator whose state has rows of this rank's in it. What a divided
    dataset without a shuffle keeps is a place, the same on each rank."""
    given = [kept]
    if isinstance(kept, (ast.Name, ast.Attribute)):
        bound = draft.values.bindings(kept)
        given = [b.value for b in bound if b.value is not None]
    iterators = [e for e in given if isinstance(e, ast.Call) and draft.names.last(e.func) == "iter"]
    made_of = [n for n in draft.values.depends(iterators, 400) if isinstance(n, ast.Call)]
    is_restored = any(o.node in draft.facts.kept.restored for o in draft.values.origins(kept))
    return is_restored and any(draft.names.last(n.func) == "shuffle" for n in made_of)


def agree_on_starts(draft: Draft, frames: Sequence[Frame]) -> None:
    """Lets all ranks go on from the step that rank 0 has restored: another host may have no checkpoint, or an older one.
    `frames`: those of the ways to what trains."""
    _agree_on_reads(draft, frames)
    for counter in draft.facts.counters.listed.stored:
        if counter.made is None:
            _agree_on_number(draft, counter)
    counted = [counter.made for counter in draft.facts.counters.listed.stored if counter.made is not None]
    for made in dict.fromkeys([*counted, *_deciding(draft, frames)]):
        _send(draft, made, _AGREE, _WHY_AGREE)
    for made in _in_losses(draft):
        _send(draft, made, _AGREE_NUMBER, _WHY_NUMBER)


def agree_on_restored(draft: Draft, decided: ast.expr) -> None:
    """Lets all ranks go on with the numbers that rank 0 has restored, where they decide how training goes: the best loss so
    far, a rate."""
    for reason in differing(draft, decided):
        if reason.where in draft.facts.kept.scalars and not draft.was(reason.where, Agreed):
            assert isinstance(reason.where, ast.Call)
            _send(draft, reason.where, _AGREE_NUMBER, _WHY_NUMBER)
    restored_fields.settle(draft, decided)
    read_before.agree(draft, decided)


def _send(draft: Draft, made: ast.Call, what: str, why: str) -> None:
    """Sends a restored variable where a checkpoint is read."""
    for call, name in draft.facts.kept.places(made):
        restored = draft.syntax.statement(call)
        place = restoring.reached_by_all(draft, restored)
        if place is None or not draft.once(f"agreed {name}", place):
            continue
        if draft.was(made, Agreed) and not restoring.is_there(draft, name, restored):
            continue  # rank 0 sends the number that a function makes of it
        if not restoring.is_there(draft, name, restored, place):
            if not restoring.take_branch_of_rank_0(draft, restored, place, what, why):
                draft.ask("G6", call, what, why, _UNSENT)
                continue
            place = restored
        edits = restoring.after_restoring(
            draft, place, restored, f"{name}.assign({from_root(draft)}({name}.numpy()))"
        )
        if edits:
            draft.change("G6", call, what, why, edits)
            draft.decide(made, Agreed("G6"))


def _agree_on_reads(draft: Draft, frames: Sequence[Frame]) -> None:
    """`step = session.run(step_variable)` → rank 0's, where a restored number decides later whether a step is taken."""
    runs = set[ast.AST](draft.sites.graph.all_runs) if draft.in_graph else set()
    reads = {
        r.where
        for frame in frames
        for test in (_tests_before(draft, frame) if runs else ())
        for r in draft.uniform.reasons(test)
        if isinstance(r, Varies) and r.kind is Source.FILES and r.where in runs
    }
    for read in sorted((r for r in reads if isinstance(r, ast.Call)), key=position):
        if draft.was(read, Agreed):
            continue  # sent with all variables (S4)
        if can_agree(draft, read) and draft.decide(read, Agreed("G6")):
            edits = Edit.around(draft.module.span(read), *told.around(draft, read))
            draft.change("G6", read, _AGREE, _WHY_AGREE, edits)


def _tests_before(draft: Draft, frame: Frame) -> list[ast.expr]:
    """What decides whether a place in a function is come to: the `if`s around it, and those before that leave or go on."""
    syntax = draft.syntax
    found = [decision.test for decision, _ in syntax.conditions(frame.node)]
    statement = syntax.statement(frame.node)
    around = [statement, *(a for a in syntax.ancestors(statement) if isinstance(a, ast.stmt))]
    for a in around:
        if isinstance(a, CALLABLES):
            break
        block = syntax.block(a)
        before = (e for e in block[: block.index(a)] if isinstance(e, ast.If))
        found += [e.test for e in before if isinstance(e.body[-1], (ast.Return, ast.Continue))]
    return found


def _deciding(draft: Draft, frames: Sequence[Frame]) -> list[ast.Call]:
    """The restored numbers by which a turn of a training loop, or all of them, may be left out: `if epoch < done: continue`."""
    numbers = draft.facts.kept.numbers
    if not numbers:
        return []
    loops = dict.fromkeys(loop for frame in frames for loop in frame.loops)
    tests = [n.test for loop in loops for n in ast.walk(loop) if isinstance(n, (ast.If, ast.While))]
    read = [n for test in tests for n in ast.walk(test) if isinstance(n, (ast.Name, ast.Attribute))]
    found = {made for n in read for made in draft.values.calls(n)}
    return [made for made in numbers if made in found]


def _in_losses(draft: Draft) -> list[ast.Call]:
    """The restored numbers that losses are made with and that training moves on: the balance of two networks."""
    scalars = draft.facts.kept.scalars
    moved = (setting.kept for setting in steered.variables(draft)) if scalars else ()
    return list(dict.fromkeys(c for kept in moved for c in draft.values.calls(kept) if c in scalars))


def _agree_on_number(draft: Draft, counter: Counter) -> None:
    """`loaded, step = self.load(path)` → rank 0's, where a count starts from a number that is read from a checkpoint."""
    for value in (v for start in counter.starts for v in _calls_behind(draft, start)):
        callee = draft.values.callee(value)
        if draft.was(value, Agreed) or not isinstance(callee, FUNCTIONS):
            continue
        can_be_sent = _gives_numbers(draft, callee) or gives_record(draft.module, callee)
        if can_be_sent and can_agree(draft, value):
            variables = [n for n in draft.values.depends([value], 400) if n in draft.facts.kept.numbers]
            for read in (value, *(r.where for r in draft.uniform.reasons(value)), *variables):
                draft.decide(read, Agreed("G6"))
            edits = Edit.around(draft.module.span(value), *told.around(draft, value))
            draft.change("G6", value, _AGREE, _WHY_AGREE, edits)


def _calls_behind(draft: Draft, start: ast.expr) -> list[ast.Call]:
    """The calls that a number comes from, directly or by a name."""
    bindings = draft.module.scopes.reaching(start) if isinstance(start, ast.Name) else []
    values = [start, *(b.value for b in bindings if b.kind == "assign")]
    return [v for v in values if isinstance(v, ast.Call)]


def _gives_numbers(draft: Draft, function: Function) -> bool:
    """Whether what a function returns is made of numbers and truth values, which can be sent to other ranks."""
    return all(
        isinstance(e, ast.Constant) or any(_is_int(o.node) for o in draft.values.origins(e))
        for value in draft.values.returned(function)
        for e in (value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value])
    )


def _is_int(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("int", "float", "bool")
    )


def ends_by_stored(draft: Draft, driver: Driver) -> bool:
    """Whether a `while` ends by a count that a checkpoint keeps, or by one of rows: that goes on faster, and what it is
    compared with stays."""
    loop = driver.loop
    assert isinstance(loop, ast.While)
    tests: list[tuple[ast.expr, tuple[type[ast.cmpop], ...]]] = [(loop.test, _LESS)]
    tests += [
        (s.test, _MORE) for s in loop.body if isinstance(s, ast.If) and isinstance(s.body[-1], ast.Break)
    ]
    for test, operators in tests:
        sides = faced(test, operators)
        if sides is not None:
            counter = _counter_behind(draft, sides[0], driver)
            goes_on = counter is not None and (
                counter.stored or counter in draft.facts.counters.listed.of_rows
            )
            if goes_on and counter is not None and driver in counter.drivers:
                if any(_is_measured(amount_of(place)) for place in counter.advances):
                    agree(draft, test, why=_WHY_MEASURED)
                draft.divided = True
                draft.decide(loop, Fewer("G6"))
                return True
    return False


def _counter_behind(draft: Draft, e: ast.expr, driver: Driver) -> Counter | None:
    """The count that an expression is; or, of an epoch that each turn computes, `epoch = step // 100 + 1`, the one of steps."""
    known = draft.facts.counters
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    here = [
        b.value
        for b in bound
        if draft.syntax.inside(b.statement, driver.loop) and b.kind == "assign" and not b.path
    ]
    if known.of(e) is not None or len(here) != 1 or here[0] is None:
        return known.of(e)
    read = [known.of(n) for n in ast.walk(here[0]) if isinstance(n, (ast.Name, ast.Attribute))]
    found = {c for c in read if c is not None}
    return found.pop() if len(found) == 1 else None


def _is_measured(amount: ast.expr | None) -> bool:
    """Whether a count goes on by what a batch has, `len(batch)`: another rank's may have fewer rows."""
    return is_number_of_rows(amount) and not (
        isinstance(amount, (ast.Name, ast.Attribute)) or is_setting_of_rows(amount)
    )


def begin_after(draft: Draft, start: ast.expr) -> None:
    """`start = last + 1` of a loop whose turns count for all ranks' steps: the step after the last one comes size() later."""
    for o in draft.values.origins(start):
        if _is_next(o):
            assert isinstance(o.node, ast.BinOp)
            _go_on(draft, o.node.right)


def count_on(draft: Draft, start: ast.expr, driver: Driver) -> None:
    """`range(self.step, n, hvd.size())`, in which `self.step += 1` counts the turns, and those of no other loop: it goes on as
    the loop's number does, for what reads it and for the next loop that begins there."""
    counter = draft.facts.counters.of(start)
    if counter is not None and counter.kind is CounterKind.NUMBER and counter.drivers == {driver}:
        _stride(draft, counter)


def begins_after(draft: Draft, start: ast.expr) -> bool:
    """Whether a loop goes on from `last + 1`, also where it begins."""
    return all(map(_is_next, draft.values.origins(start)))


def _is_next(o: Origin) -> bool:
    """`last + 1`"""
    adds = isinstance(o.node, ast.BinOp) and isinstance(o.node.op, ast.Add) and not o.path
    return adds and isinstance(o.node, ast.BinOp) and _is_one(o.node.right)


def _stride(draft: Draft, counter: Counter, why: str = _WHY) -> None:
    for place in counter.advances:
        draft.decide(place, Strided("G6"))
        amount = amount_of(place)
        if amount is None or not draft.decide(amount, Counted("G6")):
            continue
        if _is_one(amount):
            edits: tuple[Edit, ...] = (Edit(draft.module.span(amount), SIZE),)
        else:
            edits = draft.times(amount)
        draft.change("G6", place, _WHAT, why, edits)


def amount_of(place: ast.AST) -> ast.expr | None:
    """By how much a counter goes on in one place."""
    if isinstance(place, ast.Call):
        return amount_added(place)
    if isinstance(place, ast.Constant):
        return place  # of `counts.update(step=1)`
    moved = augmented(place)
    if moved is not None:
        return moved.value
    value = place.value if isinstance(place, ast.Assign) else place
    return value.right if isinstance(value, ast.BinOp) else None


def _go_on(draft: Draft, one: ast.expr) -> None:
    """`step + 1` → `step + hvd.size()`"""
    if draft.decide(one, Counted("G6")):
        draft.change("G6", one, _WHAT, _WHY, [Edit(draft.module.span(one), SIZE)])


def ask_schedules(draft: Draft) -> None:
    """`schedule(step)` → `schedule(step // hvd.size())` of one that an optimizer has, `optimizer.lr(step)` also: its steps are
    divided (C4), as that counts a rank's. One that is only asked by hand keeps its steps."""
    if not draft.having(Strided):
        return
    for call in draft.syntax.calls:
        if not rate_reads.asks_optimizer(draft, call) and (
            not rate_reads.gives_schedule(draft, call) or rate_reads.is_asked_by_hand(draft, call)
        ):
            continue
        for given in arguments(call):
            if counted.all_of(draft, given) is not None and draft.decide(given, Divided("G6")):
                draft.change("G6", given, _SCHEDULE, _WHY_SCHEDULE, draft.times(given, SIZE, "//"))


def _is_one(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and type(e.value) is int and e.value == 1


RULE = Rule("G6", "go on from a checkpoint at the same row", apply, __doc__ or "")
