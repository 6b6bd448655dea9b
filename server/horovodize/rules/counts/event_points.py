"""Events at a number of steps, `if step == 500:`, `if step > warm_up:`: part of G5."""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.python.syntax import is_one
from horovodize.rules.counts import (
    among_numbers,
    capacities,
    crossings,
    executions,
    later_updates,
    marks_from_steps,
    nested,
    repeated_events,
    scales,
    tables_by_step,
    thresholds,
    unseen_counts,
)
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import counted, guarded, lengths, steps_or_none
from horovodize.rules.resuming import restored_iterations
from horovodize.rules.sums import averages_of_events
from horovodize.source import Edit

_RATIO = (
    "this goes with the training itself: each update still goes with as many of the other; if it is no ratio between "
    "updates, divide the number by the number of ranks"
)
_CHANGING = (
    "a rank takes size() times fewer steps, and the number that they are compared with here changes; compare the steps of all "
    "ranks, `step * hvd.size()`, by `>=`"
)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def at_number(draft: Draft, test: ast.expr, number: ast.expr, bound: ast.expr, operator: ast.cmpop) -> None:
    """`step == K`, `step >= K`, `step in (K, L)`"""
    if isinstance(operator, (ast.In, ast.NotIn)):
        bounds = bound.elts if isinstance(bound, (ast.Tuple, ast.List, ast.Set)) else []
    else:
        bounds = [bound] if not isinstance(operator, (ast.Is, ast.IsNot)) else []
    if any(draft.was(b, Divided) for b in bounds):
        return  # where a loop ends: `while step < n + 1:`
    if capacities.is_full_for_long(draft, number, operator):
        return
    if guarded.applies_gathered(draft, test) and not later_updates.applies_of_turn(draft, test):
        return  # as many batches go into an update as before, of each rank
    if len(bounds) == 1 and guarded.is_round(draft, test, number, bounds[0]):
        if draft.facts.feeding.kinds.constant(bounds[0]) is None:
            draft.note("G5", test, _RATIO)
        return
    if bounds and not (bounds := [b for b in bounds if not counted.is_last_turn(draft, number, b)]):
        return  # the last turn is the last of all already
    if len(bounds) == 1 and thresholds.goes_on_from(draft, test, bounds[0]):
        return
    bounds = [thresholds.until(draft, whole_steps(b)) for b in bounds]
    if (
        not bounds
        and isinstance(operator, (ast.In, ast.NotIn))
        and not among_numbers.divide(draft, test, number, bound)
    ):
        unseen_counts.ask(draft, test)
    in_order = isinstance(operator, _ORDER) and len(bounds) == 1
    exact = in_order and thresholds.changes(draft, bounds[0]) and _comes_exactly(draft, test, bounds[0])
    if len(bounds) == 1 and not exact and thresholds.moves_on(draft, test, bounds[0]):
        return
    listed = in_order and _is_listed(draft, bounds[0])
    if listed or (len(bounds) == 1 and thresholds.changes(draft, bounds[0])):
        _at_changing(draft, test, number, operator)
        return
    if len(bounds) == 1 and marks_from_steps.ask(draft, test, bounds[0]):
        return
    if not bounds or not all(_is_bound(draft, b) or _is_listed(draft, b) for b in bounds):
        if any(_is_unseen(draft, b) for b in bounds):
            unseen_counts.ask(draft, test, seen=False)
        return
    known = [None if _is_next_of(draft, b) else draft.facts.feeding.kinds.constant(b) for b in bounds]
    few = all(k is not None and k <= guarded.FEW for k in known)
    if all(k is not None and k <= 1 for k in known):
        return
    again = guarded.is_cycle_of_events(draft, number) or lengths.comes_again(draft, number)
    if few and not again and not guarded.decides(draft, test):
        return
    later = [
        b for b, number in zip(bounds, known, strict=True) if number != 0
    ]  # the first step stays the first
    at_once = not isinstance(operator, _ORDER)
    if at_once and executions.ask(draft, test, counted.of(draft, number)):
        return
    if at_once and scales.goes_on(draft, number) != "1":
        _at_scaled(draft, test, number, later)
        return
    divided = [_over_ranks(draft, test, b, at_once) for b in later]
    edits, doubt = [e for made, _ in divided for e in made], next((d for _, d in divided if d), "")
    draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, doubt, Decision.DIVIDED)
    again = again or guarded.is_set_back(draft, number) or thresholds.since(draft, number) is not None
    if again and len(bounds) == 1 and repeated_events.comes_sooner(known[0]):
        if crossings.goes_on_itself(draft, test, {ast.unparse(number)}):
            draft.note("G5", test, repeated_events.SOONER.format(known[0]))
    restored_iterations.tell(draft, "G5", test, number)
    if len(bounds) == 1 and isinstance(operator, (ast.Eq, ast.GtE)):
        averages_of_events.keep_of_event(draft, test, bounds[0])


def _comes_exactly(draft: Draft, test: ast.expr, bound: ast.expr) -> bool:
    """Whether an event has to come neither sooner nor later for a bound that it moves on by itself: it makes another value of
    the last one (`rate *= 0.9`), or comes as often in one step as that has to be moved on (`while step >= next_decay:`)."""
    is_while = isinstance(draft.syntax.parent[test], ast.While)
    return is_while or crossings.goes_on_itself(draft, test, {ast.unparse(bound)})


def _at_scaled(draft: Draft, test: ast.expr, number: ast.expr, bounds: list[ast.expr]) -> None:
    """`rows == 3200`, where that goes on by 32 with each turn: it has to stay a multiple of it."""
    shares = [scales.over_ranks(draft, test, number, b) for b in bounds]
    if None in shares:
        unseen_counts.ask(draft, test)
        return
    for b, share in zip(bounds, shares, strict=True):
        if share is not None and draft.decide(b, Divided("G5")):
            edits = [Edit(draft.module.span(b), share[0])]
            draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, share[1], Decision.DIVIDED)


def _at_changing(draft: Draft, test: ast.expr, number: ast.expr, operator: ast.cmpop) -> None:
    """`step >= period`, where `period *= 2` follows, or one of a list follows: the count is told the steps of all ranks."""
    reads = [read for read, _ in draft.facts.counters.reads(number) if counted.of(draft, read) is not None]
    if not isinstance(operator, _ORDER):
        draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _CHANGING)
        return
    for read in reads:
        edits = counted.read_as_all(draft, read, "G5")
        draft.change("G5", read, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.COUNTED)


def _over_ranks(draft: Draft, test: ast.expr, bound: ast.expr, exact: bool) -> tuple[tuple[Edit, ...], str]:
    """(a bound over the number of ranks, what is doubtful); inside an event that comes every so many steps, the same of those
    events. exact: whether the count has to meet it"""
    if _is_listed(draft, bound):  # one of them may be the first step, which stays
        text = draft.module.text(bound)
        draft.decide(bound, Divided("G5"))
        return Edit.around(draft.module.span(bound), f"({text} and max(1, ", f" // {SIZE}))"), ""
    sides = [test.left] if isinstance(test, ast.Compare) else []
    around = next((a for side in sides if (a := nested.outer(draft, test, side)) is not None), None)
    if any(nested.is_in_one_of_all(draft, test, side) for side in sides):
        draft.decide(bound, Divided("G5"))  # the first step by which all ranks have come so far
        return Edit.around(draft.module.span(bound), *_rounded_up(draft, bound)), ""
    within = nested.multiple(draft, around, bound, test, once=True) if around is not None else None
    if within is None or (within[1] and not exact):
        return steps_or_none.bound_over_ranks(draft, bound, counted.over_ranks(draft, bound, "G5")), ""
    draft.decide(bound, Divided("G5"))
    return (Edit(draft.module.span(bound), within[0]),), within[1]


def _rounded_up(draft: Draft, bound: ast.expr) -> tuple[str, str]:
    """`5000` → `-(-5000 // hvd.size())`"""
    opening, closing = ("(", ")") if needs_parentheses(bound) or isinstance(bound, ast.UnaryOp) else ("", "")
    return f"-(-{opening}", f"{closing} // {SIZE})"


def whole_steps(bound: ast.expr) -> ast.expr:
    """`n` of `n - 1`."""
    is_near = isinstance(bound, ast.BinOp) and isinstance(bound.op, (ast.Add, ast.Sub))
    return bound.left if is_near and isinstance(bound, ast.BinOp) and is_one(bound.right) else bound


def _is_bound(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is a number of steps that stays the same, and that of one process."""
    return _is_fixed(draft, e) and counted.is_whole(draft, e)


def _is_listed(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is one of the numbers that a program lists: `for when, rate in [(100, 0.1), (200, 0.01)]:`"""
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    loops = {d.loop for d in draft.facts.feeding.drivers}
    if not bound or any(b.kind != "item" or b.statement in loops for b in bound):
        return False
    given = [o.node for o in draft.values.origins(e)]
    return bool(given) and all(isinstance(n, ast.Constant) and type(n.value) is int for n in given)


def _is_unseen(draft: Draft, e: ast.expr) -> bool:
    """Whether it can't be seen that a number is one of a rank's steps, and not one that the program was given."""
    if _is_bound(draft, e) or not counted.is_whole(draft, e):
        return False
    made_of = [n for n in draft.values.depends([e], 200) if isinstance(n, ast.expr)]
    return not any(counted.of(draft, n) is not None for n in made_of)


def _is_fixed(draft: Draft, e: ast.expr) -> bool:
    match e:
        case ast.Constant():
            return isinstance(e.value, (int, float)) and not isinstance(e.value, bool)
        case ast.Name() | ast.Attribute():
            bindings = draft.values.bindings(e)
            changes = any(b.kind in ("item", "augment") or draft.syntax.loops(b.statement) for b in bindings)
            return not changes and counted.of(draft, e) is None
        case ast.BinOp():
            return _is_fixed(draft, e.left) and _is_fixed(draft, e.right)
        case ast.Subscript():
            return isinstance(e.slice, ast.Constant) and not _is_set(draft, e)
        case ast.Call():
            numbers = ("int", "len", "ceil", "float", "round", "max", "min")
            return draft.names.last(e.func) in numbers and all(_is_fixed(draft, a) for a in e.args)
        case _:
            return False


def _is_next_of(draft: Draft, e: ast.expr) -> bool:
    """Whether it is the first of some numbers that the program takes out one by one: `plan[0]`, beside `plan.pop(0)`."""
    return isinstance(e, ast.Subscript) and tables_by_step.is_filled(draft, e.value)


def _is_set(draft: Draft, item: ast.Subscript) -> bool:
    """Whether the program sets an item in a loop, or moves it on: `marks[0] += 500`."""
    text = ast.unparse(item)
    stored = (
        n
        for n in draft.syntax.every(ast.Subscript)
        if isinstance(n.ctx, ast.Store) and ast.unparse(n) == text
    )
    return any(draft.syntax.loops(n) for n in stored)
