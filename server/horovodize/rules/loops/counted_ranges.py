"""Ranges whose turns only count steps, `range(start, stop)`: each rank takes fewer of them. Part of G4 and S5."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import CounterKind
from horovodize.facts.counting.restored_numbers import RESUMING
from horovodize.plan import Decision
from horovodize.python.syntax import argument
from horovodize.rules.counts import crossings, nested
from horovodize.rules.drafting.decisions import (
    Amount,
    Divided,
    Fewer,
    Shared,
    Strided,
)
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.loops import last_events, moved_starts
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import DIVIDE_STEPS, PLENTY, WHY, change_count, feeding
from horovodize.rules.resuming import resume
from horovodize.rules.resuming.restored_iterations import STORED
from horovodize.source import Edit
from horovodize.summary.feeding import Driver


def counts_by_ones(draft: Draft, e: ast.Call) -> bool:
    """Whether no keyword changes what a range counts: those of `trange` say how its bar looks, `delta` of `tf.range` does."""
    return not e.keywords or draft.names.last(e.func) == "trange"


def counts_from(draft: Draft, e: ast.expr) -> ast.Call | None:
    """`range(1, n)`, from some number on, one by one."""
    if not isinstance(e, ast.Call) or len(e.args) != 2 or not counts_by_ones(draft, e):
        return None
    return e if draft.names.last(e.func) in ("range", "trange", "xrange", "arange") else None


def divide_from(draft: Draft, driver: Driver, numbers: ast.Call, rule: str) -> None:
    """`range(1, n + 1)` → `range(1, n // size() + 1)`: counted one by one as before, so that every 50th step still is one of
    rank 0's."""
    start, stop = numbers.args
    if isinstance(start, ast.Constant) and start.value == 0:
        keep_last(draft, driver, stop, 0, rule)
        if not last_events.divide(draft, driver, stop, rule):
            divide_count(draft, stop, rule)
    elif isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add) and _is(start, stop.right):
        divide_count(draft, stop.left, rule)
    elif (
        isinstance(stop, ast.BinOp)
        and isinstance(stop.op, ast.Add)
        and _is(start, stop.left)
        and counts_ranks(draft, start)
    ):  # so many more
        divide_count(draft, stop.right, rule)
    elif draft.was(stop, Amount):
        return
    elif counts_ranks(draft, start) and not moved_starts.selects_rows(draft, start):
        draft.decide(stop, Divided(rule))
        draft.divided = True
        draft.decide(driver.loop, Fewer(rule))
        count = _before_the_last(stop)
        opening, closing = ("(", ")") if needs_parentheses(count) else ("", "")
        edits = [
            *Edit.around(draft.module.span(stop), f"max({draft.module.text(start)}, ", ")"),
            *Edit.around(draft.module.span(count), opening, f"{closing} // {SIZE}", level=1),
        ]
        draft.change(rule, stop, DIVIDE_STEPS, WHY, edits, decision=Decision.DIVIDED)
        draft.note(rule, start, STORED)
    elif not isinstance(start, ast.Constant) or draft.facts.counters.later.is_one(start):
        draft.decide(stop, Shared(rule))
        draft.divided = True
        draft.decide(driver.loop, Strided(rule))
        edits = [draft.add_argument(numbers, SIZE, level=-1)]
        draft.change(rule, stop, "Let each step count for those of all ranks", WHY, edits)
        moved_starts.ask(draft, driver, start, rule, counts_ranks(draft, start))
        resume.begin_after(draft, start)
        resume.count_on(draft, start, driver)
    else:
        draft.decide(stop, Divided(rule))
        draft.divided = True
        span, first = draft.module.span(stop), draft.module.text(start)
        if isinstance(start, ast.Constant) and isinstance(stop, ast.Constant):
            keep_last(draft, driver, stop, start.value, rule)  # type: ignore[arg-type]
            edits = [Edit(span, f"{first} + max(1, {stop.value - start.value} // {SIZE})")]  # type: ignore[operator]
        else:
            opening, closing = ("(", ")") if needs_parentheses(stop) else ("", "")
            edits = [*Edit.around(span, f"{first} + max(1, ({opening}", f"{closing} - {first}) // {SIZE})")]
        draft.change(rule, stop, DIVIDE_STEPS, WHY, edits, decision=Decision.DIVIDED)


def _is(start: ast.expr, other: ast.expr) -> bool:
    """Whether a loop's first number is written as another."""
    return ast.dump(start) == ast.dump(other)


def counts_ranks(draft: Draft, start: ast.expr) -> bool:
    """Whether a loop goes on from what TensorFlow has counted: a graph's global step, an optimizer's iterations, a variable
    that an operation of the graph adds to with each step."""
    made = list(draft.values.depends([start], 300))
    if any(isinstance(n, ast.Call) and draft.names.last(n.func) in RESUMING for n in made):
        saved = [argument(c, "global_step", 2) for c in draft.sites.method_calls("save")]
        made += [e for e in saved if e is not None]
    counters = (
        draft.facts.counters.of(n) for n in made if isinstance(n, (ast.Name, ast.Attribute, ast.Call))
    )
    return any(
        c.kind in (CounterKind.GLOBAL_STEP, CounterKind.ITERATIONS)
        or (
            c.kind is CounterKind.VARIABLE and bool(c.drivers) and not c.advances
        )  # runs add to it, as they did
        for c in counters
        if c is not None
    )


def divide_rest(draft: Draft, count: ast.expr, rule: str) -> bool:
    """`1000 - int(optimizer.iterations)` → `max(0, 1000 // hvd.size() - int(optimizer.iterations))`: how many of a rank's
    steps are left of its share, none in a run that goes on from a finished one. Whether it is such a number, or one's name."""
    made = [o.node for o in draft.values.origins(count)]
    rest = made[0] if len(made) == 1 else None
    if (
        not isinstance(rest, ast.BinOp)
        or not isinstance(rest.op, ast.Sub)
        or not counts_ranks(draft, rest.right)
    ):
        return False
    if not draft.decide(count, Divided(rule)):
        return True
    draft.divided = True
    opening, closing = ("(", ")") if needs_parentheses(rest.left) else ("", "")
    whole, left = draft.module.span(rest), draft.module.span(rest.left)
    edits = [
        *Edit.around(whole, "max(0, ", ")"),
        *Edit.around(left, opening, f"{closing} // {SIZE}", level=1),
    ]
    draft.change(rule, rest, DIVIDE_STEPS, WHY, edits, decision=Decision.DIVIDED)
    draft.note(rule, rest.right, STORED)
    return True


def divide_count(draft: Draft, count: ast.expr, rule: str) -> None:
    if divide_rest(draft, count, rule):
        return
    change_count(draft, rule, _before_the_last(count))


def _before_the_last(count: ast.expr) -> ast.expr:
    """`n` of `range(n + 1)`: the last turn, at which something happens, stays one more."""
    one_more = (
        isinstance(count, ast.BinOp) and isinstance(count.op, ast.Add) and ast.unparse(count.right) == "1"
    )
    return count.left if one_more and isinstance(count, ast.BinOp) else count


def keep_last(draft: Draft, driver: Driver, stop: ast.expr, first: int, rule: str) -> None:
    """`if step == 999:` in `for step in range(1000)`: the last step stays the last, by a number of its own."""
    end = feeding(draft).kinds.constant(stop)
    target = driver.loop.target if isinstance(driver.loop, (ast.For, ast.AsyncFor)) else None
    if end is None or not isinstance(target, ast.Name) or end - 1 <= first:
        return
    more = first == 0 and last_events.number_of(draft, driver, stop) is not None
    turns = end - first - more
    last = f"{turns} // {SIZE}" if turns >= PLENTY else f"max(1, {turns} // {SIZE})"
    last = last if more else f"{last} - 1" if first == 0 else last if first == 1 else f"{first - 1} + {last}"
    for n in (n for s in driver.loop.body for n in ast.walk(s)):
        if not isinstance(n, ast.Compare) or len(n.ops) != 1 or not isinstance(n.ops[0], (ast.Eq, ast.GtE)):
            continue
        left, right = n.left, n.comparators[0]
        turn = isinstance(left, ast.Name) and left.id == target.id
        if (
            turn
            and isinstance(right, ast.Constant)
            and right.value == end - 1
            and draft.decide(right, Divided(rule))
        ):
            around = nested.event_around(draft, n, left)
            there = _last_of_events(draft, around, last) if around is not None else last
            draft.change(
                rule,
                right,
                "Let the last step be the last",
                WHY,
                [Edit(draft.module.span(right), there)],
                decision=Decision.DIVIDED,
            )


def _last_of_events(draft: Draft, modulo: ast.BinOp, last: str) -> str:
    """The last step, up to one as text, at which an event every so many steps comes: by the steps of all ranks, where it has to
    come as often as alone."""
    whole, every = draft.syntax.parent[modulo], modulo.right
    rest = whole.comparators[0] if isinstance(whole, ast.Compare) else None
    test = whole if isinstance(whole, ast.Compare) else modulo
    is_zero = rest is None or (isinstance(rest, ast.Constant) and rest.value == 0)
    if is_zero and not needs_parentheses(every) and crossings.goes_by_all(draft, test, modulo):
        text = draft.module.text(every)
        return f"-(({last}) * {SIZE} // {text} * -{text} // {SIZE})"
    share = counted.text_over_ranks(draft, every)
    return f"({last}) // {share} * {share}"
