"""G5 events: what happens every M steps, or at step M, happens as often for the rows that all ranks have seen.

What it does   Where a counter of steps is compared (`step % 100 == 0`, `step == 5000`, `step >= warmup`, `step in (10, 500)`,
               `step - last >= 50`), what it is compared with is divided by `hvd.size()`, never to 0; where the program moves
               that on itself, what it starts with and moves on by (`next_save += 500`); where it makes another number of it
               (`period *= 2`), the steps of all ranks are compared, `step * hvd.size() >= period`; what a sum of the steps
               since the last event is divided by there (`running / 100`), and what a step is given goes by the steps of all
               ranks where it is computed from their number (`beta = min(1.0, step / 1000)`), also by a schedule, or goes on
               with each of them (`heat.assign(heat * 0.999)`), as do the fields that callbacks and loops set so
               (`layer.rate = 0.5 * (1 - self.seen / total)`) and what a `Sequence` counts in `__getitem__`;
               likewise the steps that callbacks, hooks and a `RunConfig` are
               given (`save_freq=1000`, `save_steps=500`), the steps of an epoch that is counted by them
               (`epoch = step // 500`), and what a hook of the program's own counts with each run of a session. In a program
               that keeps its count of steps with a checkpoint, and so counts those of all ranks, `step % 100 == 0` becomes
               `step % 100 < hvd.size()`. A sum over the steps of an epoch is multiplied where a number is its limit
               (`if total * hvd.size() < 0.5:`); where more goes by a sum, what each step adds to it is added up over the
               ranks (`tokens += sum_over_ranks(n)` beside `if tokens >= next_save: next_save += 5000`). An event that makes
               something of its last value (`rate *= 0.9`, `length += 8`) comes exactly as often,
               `if step * hvd.size() % 100 < hvd.size():`. An event's number
               (`save(f"{step // 100}")` under `if step % 100 == 0:`) is counted as it comes. Of decisions that an iterator
               gives, one with each step (`if next(due):`), each step takes those of all ranks' steps.
Why            Each rank takes size() times fewer steps for the same rows: on 16 ranks "every 5,000 steps" would come after 16
               times as many rows, and never where a run has fewer steps than that.
Before         for step, (x, y) in enumerate(dataset):
                   train_step(x, y)
                   if step % 1000 == 0:
                       save(model)
After          for step, (x, y) in enumerate(dataset):
                   train_step(x, y)
                   if step % max(1, 1000 // hvd.size()) == 0:
                       save(model)
Leaves alone   What is counted in epochs. Loops that are not divided. A look at the first steps (`step == 0`, `step < 5`).
               How updates go with each other: where a step trains only every few turns (`if step % n_critic == 0:` around
               the generator's update, gradients that are applied every 4 batches), each update still goes with as many of the
               other; likewise what picks the data of each step (`x = next(a) if step % 2 else next(b)`). Training becomes no
               different by that, for all of them see size() times the rows; divided, it would.
               Where each epoch counts from the start, it is said: there may be fewer batches in one.
               The size of a memory (`if pointer > CAPACITY:` beside `np.zeros((CAPACITY, 4))`) that training doesn't wait for:
               as many rows fill it on each rank. It is said. Numbers of steps in what is printed, logged or part of a
               file's name (`f"model_{step}.h5"`): they are a rank's own, unless a later run goes on from them (G6).
Asks           Where training waits until a memory is filled: its size, or the bound of `len(memory) > 500`, is divided if that
               can be done; a rank must not draw more rows at once than it then holds. Where `Dataset.map` counts the
               elements of one rank, and changes them by their number. Where a layer or a loss counts the batches of
               validation, too, all of which each rank sees.
Source         Beyond the seed.
"""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter
from horovodize.plan import Decision
from horovodize.python.comparisons import flipped
from horovodize.python.module import Module
from horovodize.python.syntax import is_one
from horovodize.rules.counts import (
    annealing,
    beside_updates,
    capacities,
    countdowns,
    counted_validations,
    crossings,
    epoch_counts,
    epochs_of_steps,
    event_numbers,
    executions,
    handed_functions,
    hidden_counts,
    lengths_beside_counts,
    library_steps,
    nested,
    offsets,
    optimizer_settings,
    remainders,
    scales,
    seldom_turns,
    steps_taken_back,
    strides,
    tables_by_step,
    taken_in_turn,
    thresholds,
    told_tests,
    unseen_counts,
    windows,
)
from horovodize.rules.counts.event_points import at_number, whole_steps
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.loops import gathered_batches, uncounted
from horovodize.rules.numbers import counted, guarded, lengths
from horovodize.rules.numbers.shares import begins
from horovodize.rules.resuming import restored_iterations
from horovodize.rules.sums import averages_of_events, shared_sums, sum_thresholds
from horovodize.source import Edit
from horovodize.source.nodes import walk

_RATIO = (
    "this goes with the training itself: each update still goes with as many of the other; if it is no ratio between "
    "updates, divide the number by the number of ranks"
)
_PERHAPS = "it can't be seen what `{}` is: this is right if it counts the steps of training"
_CASES = "these cases count a rank's steps, and can't be divided as they stand; write them as `if`, or divide the numbers"
_MODULO = {"mod", "floormod", "remainder"}
_COMPARING = {"equal": ast.Eq(), "not_equal": ast.NotEq(), "greater": ast.Gt(), "greater_equal": ast.GtE(),
              "less": ast.Lt(), "less_equal": ast.LtE()}  # fmt: skip


def apply(draft: Draft) -> None:
    is_wanted = begins(draft, "G5") and draft.divided
    if is_wanted:
        remainders.apply(draft)
        countdowns.apply(draft)
    epochs = epochs_of_steps.divide(draft) if is_wanted else set[ast.expr]()
    if not is_wanted:
        uncounted.ask(draft, epochs)
        return
    shared_sums.apply(draft, asks=True)
    epoch_counts.apply(draft)
    lengths_beside_counts.tell(draft, "G5")
    annealing.tell_chances(draft)
    for test in draft.syntax.every(ast.Compare):
        if len(test.ops) == 1:
            _compared(draft, test, test.left, test.comparators[0], test.ops[0])
        else:
            _chained(draft, test)
    comparing, told = set(draft.module.calls_which(_compares)), set(library_steps.candidates(draft))
    for call in [c for c in draft.syntax.calls if c in comparing or c in told]:
        if call in comparing:
            _compared(draft, call, call.args[0], call.args[1], _COMPARING[draft.names.last(call.func)])
        else:
            library_steps.divide(draft, call, draft.names.of(call.func) or "")
    for decision in draft.syntax.every(ast.If, ast.While, ast.IfExp) if draft.facts.counters.exist else ():
        for said in unseen_counts.ask_of_methods(draft, decision.test):
            told_tests.ask(draft, said)
    for match in draft.syntax.every(ast.Match):
        _matched(draft, match)
    for modulo in draft.syntax.every(ast.BinOp):
        if isinstance(modulo.op, ast.Mod) and _is_tested(draft, modulo) and not strides.tested(draft, modulo):
            _every(draft, modulo, modulo, None, None)
    tables_by_step.apply(draft)
    annealing.apply(draft)
    optimizer_settings.apply(draft)
    annealing.tell_other_calls(draft)
    sum_thresholds.apply(draft)
    taken_in_turn.apply(draft)
    steps_taken_back.ask(draft)
    hidden_counts.ask(draft)
    counted_validations.ask(draft)
    restored_iterations.tell_compared(draft)
    uncounted.ask(draft, epochs)


def _compares(module: Module, call: ast.Call) -> bool:
    """`tf.equal(step, 100)`"""
    name = module.names.of(call.func) or ""
    known = name.startswith(("tensorflow.", "numpy.")) and name.rsplit(".", 1)[-1] in _COMPARING
    return known and len(call.args) == 2


def _matched(draft: Draft, match: ast.Match) -> None:
    """`match step: case 100:`, which has no place for a number that is computed."""
    values = [
        n.value for case in match.cases for n in ast.walk(case.pattern) if isinstance(n, ast.MatchValue)
    ]
    numbers = [v.value for v in values if isinstance(v, ast.Constant)]
    counts = _count(draft, match.subject) is not None or _divisor(draft, match.subject) is not None
    if counts and any(type(n) is int and n > 1 for n in numbers):
        draft.ask("G5", match.subject, thresholds.WHAT, thresholds.WHY, _CASES)


# ---------------------------------------------------------------------- comparisons


def _compared(draft: Draft, test: ast.expr, left: ast.expr, right: ast.expr, operator: ast.cmpop) -> None:
    for one, other in ((left, right), (right, left)) if _may_count(draft, test) else ():
        if strides.compared(draft, test, one, other, operator):
            return
        if capacities.waits(draft, test, one, other, operator):
            return
        if thresholds.goes_back(draft, test, one, other):
            return
        if _divisor(draft, one) is not None:
            _every(draft, test, one, other, operator if other is right else flipped(operator))
            return
        if _counts(draft, one):
            waits = isinstance(operator, (ast.Gt, ast.GtE, ast.Lt, ast.LtE))
            if waits and draft.divided and capacities.is_drawn_at_once(draft, test, other):
                return  # fewer rows than a step draws: it would fail
            keeps = capacities.keeps(draft, test, one, whole_steps(other))
            if not keeps and not capacities.goes_through(draft, one, other):
                at_number(draft, test, one, other, operator)
            return
    if told_tests.tell(draft, test):
        return
    unseen_counts.ask(draft, test)
    told_tests.ask(draft, test)
    handed_functions.ask(draft, test)


def _may_count(draft: Draft, test: ast.expr) -> bool:
    """Whether a test may be about a number of steps, or about how much there is of something."""
    return (
        draft.facts.counters.exist
        or not isinstance(test, ast.Compare)
        or test in draft.module.which(_measures, ast.Compare)
    )


def _measures(module: Module, test: ast.Compare) -> bool:
    """`len(losses) == 100`"""
    return any(isinstance(n, ast.Call) and module.names.last(n.func) == "len" for n in walk(test))


def _chained(draft: Draft, test: ast.Compare) -> None:
    """`100 <= step < 200`, `10 < step % 100 < 20`"""
    sides = [test.left, *test.comparators]
    modulos = [e for e in sides if _divisor(draft, e) is not None]
    counts = [e for e in sides if _counts(draft, e)]
    in_order = all(isinstance(op, windows.ORDER) for op in test.ops)
    if in_order and not modulos and counts:
        for left, operator, right in zip(sides, test.ops, sides[1:], strict=False):
            one, other = (left, right) if left in counts else (right, left)
            if one in counts and other not in counts:
                at_number(draft, test, one, other, operator if one is left else flipped(operator))
    elif in_order and len(modulos) == 1 and len(sides) == 3 and modulos[0] is sides[1]:
        number = _dividend(modulos[0])
        if not guarded.is_ratio(draft, test, modulos[0]):
            windows.between(
                draft,
                test,
                number,
                "" if _counts(draft, number) else _PERHAPS.format(draft.module.text(number)),
            )
    elif modulos or counts or not told_tests.tell(draft, test):
        unseen_counts.ask(draft, test, seen=not (modulos or counts))
        told_tests.ask(draft, test)
        handed_functions.ask(draft, test)


def _count(draft: Draft, e: ast.expr) -> Counter | None:
    """The counter of a rank's steps in `step`, `step + 1`."""
    if (
        isinstance(e, ast.BinOp)
        and isinstance(e.op, (ast.Add, ast.Sub))
        and isinstance(e.right, ast.Constant)
    ):
        e = e.left
    e = thresholds.since(draft, e) or e
    found = counted.of(draft, e)
    scaled = counted.scaled(draft, e) if found is None else None
    return scaled.counter if scaled is not None else found


def _divisor(draft: Draft, e: ast.expr) -> ast.expr | None:
    """`M` of `step % M`, `tf.math.floormod(step, M)`."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mod):
        left, right = e.left, e.right
    elif isinstance(e, ast.Call) and len(e.args) == 2 and draft.names.last(e.func) in _MODULO:
        left, right = e.args
    else:
        return None
    counts = _counts(draft, left) or offsets.counted_from(draft, left) is not None
    return right if counts or counted.perhaps(draft, left) else None


def _counts(draft: Draft, e: ast.expr) -> bool:
    """Whether a number counts a rank's steps: also the length of what gets an item with each."""
    return _count(draft, e) is not None or lengths.counts(draft, e)


def _dividend(modulo: ast.expr) -> ast.expr:
    """`step` of `step % M`, `tf.math.floormod(step, M)`."""
    if isinstance(modulo, ast.BinOp):
        return modulo.left
    return modulo.args[0] if isinstance(modulo, ast.Call) else modulo


def _is_tested(draft: Draft, e: ast.expr) -> bool:
    """Whether only it counts whether something is 0: `if not step % 100:`, `if k and k % 100:`, `step % 100 or save()`."""
    child: ast.AST = e
    decides = False  # whether something else is done by it
    for a in draft.syntax.ancestors(e):
        if isinstance(a, ast.UnaryOp) and isinstance(a.op, ast.Not):
            return True
        if isinstance(a, ast.BoolOp):
            decides |= child is not a.values[-1]
            child = a
        elif isinstance(a, ast.Expr) or draft.facts.hooks.of(a) is not None:
            return decides  # what comes of it is not kept, unlike in `k = step % 100 or 100`
        else:
            return isinstance(a, (ast.If, ast.IfExp, ast.While)) and draft.syntax.field[child] == "test"
    return False


def _every(
    draft: Draft, test: ast.expr, modulo: ast.expr, rest: ast.expr | None, operator: ast.cmpop | None
) -> None:
    """`step % M == r`, `step % M < r`; rest and operator: None where the remainder is tested by itself"""
    divisor = _divisor(draft, modulo)
    if divisor is None or not counted.is_whole(draft, divisor):
        return
    known = draft.facts.feeding.kinds.constant(divisor)
    if known is not None and known <= 1:
        return
    if capacities.keeps(draft, test, _dividend(modulo), divisor):
        return
    if guarded.is_ratio(draft, test, modulo):
        if known is None:
            draft.note("G5", test, _RATIO)
        elif (counter := _count(draft, _dividend(modulo))) is not None and seldom_turns.may_never_come(
            draft, test, _dividend(modulo), counter, not _is_zero(rest)
        ):
            draft.note("G5", test, gathered_batches.SELDOM.format(known))
        beside_updates.tell(draft, test, divisor)
        return
    number = _dividend(modulo)
    around = nested.outer(draft, test, number)
    goes_on = scales.goes_on(draft, number)
    offset = offsets.counted_from(draft, number)
    counts = offset is not None or _counts(draft, number)
    if offset is not None and not _is_zero(rest):
        unseen_counts.ask(draft, test)
        return
    if not isinstance(operator, windows.ORDER) and executions.ask(draft, test, _count(draft, number)):
        return
    if rest is not None and isinstance(operator, (ast.In, ast.NotIn)):
        if not counts or not windows.among(draft, test, modulo, number, rest, operator):
            unseen_counts.ask(draft, test, seen=False)
        return
    if rest is not None and isinstance(operator, windows.ORDER):
        perhaps = "" if counts else _PERHAPS.format(draft.module.text(number))
        windows.apply(draft, test, number, divisor, rest, operator, doubt=perhaps)
        return
    apart = around is None or nested.is_in_one_of_all(draft, test, number)
    if apart and counts and crossings.apply(draft, test, modulo, rest, goes_on, _count):
        averages_of_events.keep_of_event(draft, test, divisor)
        return
    within = nested.multiple(draft, around, divisor, test) if around is not None else None
    doubt = _PERHAPS.format(draft.module.text(number)) if not counts else ""
    if within is not None:
        draft.decide(divisor, Divided("G5"))
        edits, doubt = [Edit(draft.module.span(divisor), f"({within[0]})")], doubt or within[1]
    elif goes_on != "1":
        period = scales.over_ranks(draft, test, number, divisor)
        if period is None or not _is_zero(rest):
            unseen_counts.ask(draft, test)
            return
        draft.decide(divisor, Divided("G5"))
        edits, doubt = [Edit(draft.module.span(divisor), f"({period[0]})")], period[1]
    else:
        least = guarded.turns_of_what_is_shown(draft, test)
        edits = list(counted.over_ranks(draft, divisor, "G5", least))
        edits += event_numbers.divide(draft, test, divisor, least, _count)
    if offset is not None:
        edits += offsets.divide(draft, offset)
    if rest is not None and not _is_zero(rest):
        edits += _remainder(draft, modulo, rest, divisor)
    draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, doubt, Decision.DIVIDED)
    averages_of_events.keep_of_event(draft, test, divisor)


def _is_zero(rest: ast.expr | None) -> bool:
    """Whether a remainder is compared with 0, or tested by itself."""
    return rest is None or (isinstance(rest, ast.Constant) and rest.value == 0)


def _remainder(draft: Draft, modulo: ast.expr, rest: ast.expr, divisor: ast.expr) -> list[Edit]:
    """`step % 100 == 1` → `(step - 1) % … == 0`: what is left of a division by 100 may never be left of one by fewer. `M - 1`
    goes with its `M`."""
    kinds = draft.facts.feeding.kinds
    whole, part, span = kinds.constant(divisor), kinds.constant(rest), draft.module.span(rest)
    is_last = isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Sub) and is_one(rest.right)
    if is_last and isinstance(rest, ast.BinOp) and ast.dump(rest.left) == ast.dump(divisor):
        return [Edit(span, f"{counted.text_over_ranks(draft, divisor)} - 1")]
    if whole is not None and part == whole - 1:
        return [Edit(span, f"{counted.text_over_ranks(draft, divisor)} - 1")]
    text = draft.module.text(rest)
    text = f"({text})" if needs_parentheses(rest) else text
    less = f" - {text}" if part is not None and part <= guarded.FEW else f" - {text} // {SIZE}"
    number = _dividend(modulo)
    enclosed = isinstance(modulo, ast.Call) or isinstance(number, ast.BinOp)
    around = ("", less) if enclosed else ("(", f"{less})")
    return [*Edit.around(draft.module.span(number), *around), Edit(span, "0")]


RULE = Rule("G5", "let what happens every M steps happen as often for the rows seen", apply, __doc__ or "")
