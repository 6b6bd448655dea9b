"""What happens with each step of divided loops, rather than every so many steps, or by what a step gives."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter
from horovodize.facts.counting.variable_additions import unconverted
from horovodize.python.binding import Binding
from horovodize.python.syntax import says_none
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, guarded, left_turns, named_tests, picked_weights
from horovodize.rules.numbers.asked_methods import asks_for_one
from horovodize.rules.numbers.carried_numbers import ever_bound
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.numbers.training_steps import steps_of

_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def is_by_step(draft: Draft, site: ast.AST, kept: ast.expr | None = None) -> bool:
    """Whether something happens with each step of divided loops: not by a count of them, nor by what a step gives. Steps that
    train every few turns (gradients that are added up over 4 batches) are steps.

    kept: what it goes on with (`if rate > 1e-4: rate *= 0.99`), whose last value may decide, too"""
    found = draft.facts.occasions.counted_at(site)
    if found is None or not all(counted.is_divided(draft, d) for d in found[0]):
        return False
    if found[1] and not all(counted.is_fit_divided(draft, f) for f in feeding(draft).fits):
        return False
    places = [f.node for way in draft.drive.ways(site) for f in way]
    under = [pair for place in places for pair in draft.syntax.conditions(place)]
    if any(not _trains_in(draft, t, arm) and _skips(draft, t) for t, arm in under):
        return False  # `if not finite: scale /= 2; continue`, and the step after it
    tests = [
        t.test
        for t, arm in under
        if (arm == "body" or not _is_now_and_then(draft, t.test))
        and not (_trains_in(draft, t, arm) and not left_turns.goes_by_turns(draft, t.test))
    ]  # a step that is taken by a test, `if len(queue) > 8:`, is one with what goes beside it
    tests += [t.test for place in places for t in draft.facts.occasions.skipped_by(place, found[0])]
    tests += left_turns.by_turns(draft, site, found[0])
    own = ast.unparse(kept) if kept is not None else ""
    return all(_is_flag(draft, test, own) or _is_ratio(draft, test) for test in tests)


def _trains_in(draft: Draft, decision: ast.If | ast.IfExp, arm: str) -> bool:
    """Whether an arm of a test takes a step."""
    sites = set[ast.AST](steps_of(draft))
    places = decision.body if arm == "body" else decision.orelse
    return any(draft.drive.reaches(s, sites) for s in (places if isinstance(places, list) else [places]))


def _skips(draft: Draft, decision: ast.If | ast.IfExp) -> bool:
    """Whether a test decides whether a turn takes its step at all, by no number of turns."""
    by_turns = left_turns.goes_by_turns(draft, decision.test)
    return not by_turns and guarded.applies_gathered(draft, decision.test)


def _is_now_and_then(draft: Draft, test: ast.expr) -> bool:
    """Whether a test holds at one step only, `step == 20`: beside it, something happens with each step."""
    test = named_tests.behind(draft, test)
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    return any(_count(draft, side) is not None for side in (test.left, test.comparators[0]))


def _count(draft: Draft, e: ast.expr) -> Counter | None:
    """The counter of steps, of a rank or of all ranks, that an expression gives."""
    return counted.of(draft, e) or counted.all_of(draft, e)


def _is_ratio(draft: Draft, test: ast.expr) -> bool:
    """Whether a test says with which batches a step trains, which is the same on many ranks: `if (i + 1) % 4 == 0:`, or
    `if gathered == 4:`."""
    test = named_tests.behind(draft, test)
    modulos = [n for n in ast.walk(test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)]
    if len(modulos) == 1:
        known = draft.facts.feeding.kinds.constant(modulos[0].right)
        return known == 1 or guarded.is_ratio(draft, test, modulos[0])
    return not modulos and guarded.applies_gathered(draft, test)


def _is_flag(draft: Draft, test: ast.expr, kept: str) -> bool:
    """Whether a test is of settings, which no loop changes: `if args.decay:`, `if __name__ == "__main__":`; or holds from some
    step on, or up to it: `if step > warmup:`. Not so of a count that begins again: `if step >= period: step = 0`; nor of what a
    loop brings in each turn, where it is one of many values: `for epoch, batch, x, y in data: if batch == 0:`."""
    test = named_tests.behind(draft, test)
    if isinstance(test, ast.Name) and test.id == "training":
        return True  # what Keras tells a layer
    if isinstance(test, ast.BoolOp):
        return all(_is_flag(draft, part, kept) for part in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_flag(draft, test.operand, kept)
    if _is_set_once(draft, test) or picked_weights.picks(draft, test) or asks_for_one(draft, test):
        return True
    if isinstance(test, ast.Compare) and all(isinstance(op, _ORDER) for op in test.ops):
        sides = [test.left, *test.comparators]
        counts = [c for side in sides if (c := _count(draft, side)) is not None]
        if counts:
            return not any(_begins_again(draft, c) for c in counts) and all(
                _count(draft, side) is not None or _is_flag(draft, side, kept) for side in sides
            )
    if isinstance(test, ast.Compare) and any(isinstance(op, (ast.Eq, ast.In)) for op in test.ops):
        if any(_count(draft, side) is not None for side in (test.left, *test.comparators)):
            return False  # at one step, or at a few
    plain = (ast.Name, ast.Attribute, ast.Constant, ast.BoolOp, ast.UnaryOp, ast.Compare)
    parts = [n for n in ast.walk(test) if isinstance(n, ast.expr)]
    own = {inner for n in parts if kept and ast.unparse(unconverted(n)) == kept for inner in ast.walk(n)}
    for n in (part for part in parts if part not in own):
        bound = draft.values.bindings(n) if isinstance(n, (ast.Name, ast.Attribute)) else []
        unseen = isinstance(n, ast.Name) and not bound and n.id != "__name__"
        if (
            isinstance(n, ast.Attribute) and not bound
        ):  # of what can't be seen: `step.calls`, where `g.calls += 1`
            unseen = any(b.kind == "augment" for b in draft.module.scopes.attributes.get(n.attr, ()))
        if not isinstance(n, plain) or unseen or any(_is_set_again(draft, b) for b in bound):
            return False
        if any(b.kind == "item" for b in bound) and _is_one_of_many(draft, n, bound):
            return False
    return True


def _is_set_once(draft: Draft, test: ast.expr) -> bool:
    """`average is None`, `if averages:` of what begins so, and gets its value with the first step: nothing takes that away."""
    match test:
        case ast.Compare(
            left=ast.Name() | ast.Attribute() as kept, ops=[ast.Is() | ast.IsNot()], comparators=[none]
        ):
            is_none = says_none(none)
            begins = [
                b for b in ever_bound(draft, kept) if is_none and b.value is not None and says_none(b.value)
            ]
        case ast.Name() | ast.Attribute() as kept:
            bound = ever_bound(draft, kept)
            begins = [b for b in bound if isinstance(b.value, (ast.List, ast.Dict)) and _is_empty(b.value)]
            calls = draft.sites.method_calls("clear", "pop", "popleft", "popitem", "remove")
            taken = {ast.unparse(c.func.value) for c in calls if isinstance(c.func, ast.Attribute)}
            if len(begins) == len(bound) or ast.unparse(kept) in taken:
                return False
        case _:
            return False
    return bool(begins) and not any(_is_set_again(draft, b) for b in begins)


def _is_empty(display: ast.List | ast.Dict) -> bool:
    return not (display.elts if isinstance(display, ast.List) else display.keys)


def _is_set_again(draft: Draft, b: Binding) -> bool:
    """Whether a name is set in a loop, or with the steps that `fit` takes: `self.done = True` in a callback."""
    return bool(draft.syntax.loops(b.statement)) or draft.facts.occasions.counted_at(b.statement) is not None


def _is_one_of_many(draft: Draft, n: ast.expr, bound: list[Binding]) -> bool:
    """Whether a test holds in those turns of a loop only that bring a certain value: `if batch == 0:`, `if first:`."""
    compared = draft.syntax.parent[n]
    some = (*_ORDER, ast.NotEq)
    if isinstance(compared, ast.Compare) and all(isinstance(op, some) for op in compared.ops):
        return False
    return any(b.statement is d.loop for b in bound for d in feeding(draft).drivers)


def _begins_again(draft: Draft, counter: Counter) -> bool:
    """Whether a number is set back among the steps that it counts."""
    return any(draft.facts.occasions.counted_at(start) is not None for start in counter.starts)
