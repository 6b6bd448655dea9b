"""Averages over the steps since the last of the events that come every so many, `total / 100`: part of G4, G5 and S5.

An event is what an `if` decides: the statements under it, or those after one that leaves them out (`if step % 100:
continue`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from horovodize.plan import Decision
from horovodize.python.augmented import added
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, named_tests
from horovodize.rules.numbers.shares import divisors_in

WHAT = "Average over the steps of a rank"
WHY = "A rank adds up 1/size() of the steps; so it divides by 1/size() of them."
_PERHAPS_STEPS = (
    "what is added up here since the last time is that of 1/size() of the steps; if this number counts steps, divide it by the "
    "number of ranks"
)
_LEAVING = (ast.Continue, ast.Return)


@dataclass(frozen=True, eq=False)
class _Event:
    """What comes every so many steps: `decided` by a test, and the statements in its `body`."""

    decided: ast.If
    body: tuple[ast.stmt, ...]

    def has(self, draft: Draft, n: ast.AST) -> bool:
        """Whether something stands in it."""
        return any(draft.syntax.inside(n, s) for s in (self.decided, *self.body))


def keep_of_event(draft: Draft, test: ast.expr, every: ast.expr) -> None:
    """The same of a sum that starts again with an event every so many steps: the divisors in it that are that number.

    test:  what says whether it comes, divided already
    every: that number"""
    for decided in named_tests.decisions(draft, test):
        _keep_of(draft, _Event(decided, _decided_by(draft, decided)), every)


def _decided_by(draft: Draft, decided: ast.If) -> tuple[ast.stmt, ...]:
    """What comes with an event: what stands after `if step % 100: continue`, else what stands under a test."""
    is_equal = isinstance(decided.test, ast.Compare) and isinstance(decided.test.ops[0], ast.Eq)
    if is_equal or decided.orelse or len(decided.body) > 1 or not isinstance(decided.body[0], _LEAVING):
        return tuple(decided.body)
    block = draft.syntax.block(decided)
    return tuple(block[block.index(decided) + 1 :])


def _keep_of(draft: Draft, event: _Event, every: ast.expr) -> None:
    summed = _summed(draft, event)
    sums, last = _begun_again(event) & summed, _kept_last(event, summed)
    _divide_as_added(draft, event, sums, every)
    for told in _told_to_a_mean(draft, event, sums, every):
        edits = draft.decided(Decision.DIVIDED, counted.over_ranks(draft, told, "G5"))
        draft.change("G5", told, WHAT, WHY, edits)
    for divisor, what in divisors_in(draft, event.decided) if sums or last else ():
        if not event.has(draft, divisor):
            continue
        if not _is_of(draft, divisor, what, sums, event) and not _is_since_last(what, last):
            continue
        same = [f for f in factors(divisor) if ast.dump(f) == ast.dump(every)]
        for factor in same:
            if not draft.was(factor, Divided):
                edits = draft.decided(Decision.DIVIDED, counted.over_ranks(draft, factor, "G5"))
                draft.change("G5", factor, WHAT, WHY, edits)
        known = draft.facts.feeding.kinds.constant(divisor)
        if not same and known is not None and known > 1:
            draft.note("G5", divisor, _PERHAPS_STEPS)


def _divide_as_added(draft: Draft, event: _Event, sums: set[str], every: ast.expr) -> None:
    """The same where each step adds a part: `loss += step() / every`, shown and set to 0 in the event."""
    for loop in draft.syntax.loops(event.decided)[:1]:
        for n in ast.walk(loop):
            sum_ = added(n)
            if sum_ is None or _whole(sum_.target) not in sums or event.has(draft, n):
                continue
            ratio = sum_.value
            if not isinstance(ratio, ast.BinOp) or not isinstance(ratio.op, ast.Div):
                continue
            for factor in (f for f in factors(ratio.right) if ast.dump(f) == ast.dump(every)):
                if not draft.was(factor, Divided):
                    edits = draft.decided(Decision.DIVIDED, counted.over_ranks(draft, factor, "G5"))
                    draft.change("G5", factor, WHAT, WHY, edits)


def _told_to_a_mean(draft: Draft, event: _Event, sums: set[str], every: ast.expr) -> Iterator[ast.expr]:
    """The number of steps that a function is told with a sum, which it divides by it: `show(total, 100)`."""
    for call in (n for s in event.body for n in ast.walk(s) if isinstance(n, ast.Call)):
        callee = draft.values.callee(call)
        if not isinstance(callee, ast.FunctionDef) or draft.syntax.method_class(callee) is not None:
            continue
        names = dict(zip([a.arg for a in callee.args.args], call.args, strict=False))
        names |= {k.arg: k.value for k in call.keywords if k.arg is not None}
        told = {name for name, e in names.items() if ast.unparse(e) in sums}
        for ratio in (n for n in ast.walk(callee) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)):
            by = names.get(ratio.right.id) if isinstance(ratio.right, ast.Name) else None
            is_mean = any(isinstance(n, ast.Name) and n.id in told for n in ast.walk(ratio.left))
            if by is not None and is_mean and ast.dump(by) == ast.dump(every) and not draft.was(by, Divided):
                yield by


def _begun_again(event: _Event) -> set[str]:
    """What an event sets anew, as it is written: `total = 0`, `self.sums = {}`, `losses.clear()`."""
    found: set[str] = set()
    for n in (n for s in event.body for n in ast.walk(s)):
        if isinstance(n, ast.Assign):
            parts = (part for target in n.targets for part in ast.walk(target))
            found |= {ast.unparse(p) for p in parts if _is_place_or_item(p) and isinstance(p.ctx, ast.Store)}
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "clear":
            found.add(ast.unparse(n.func.value))
    return found


def _kept_last(event: _Event, summed: set[str]) -> set[tuple[str, str]]:
    """(a sum, what an event sets to it): `logged = total`, from which the next one counts."""
    set_to = [n for s in event.body for n in ast.walk(s) if isinstance(n, ast.Assign)]
    kept = {(ast.unparse(n.value), ast.unparse(target)) for n in set_to for target in n.targets}
    return {(total, last) for total, last in kept if total in summed}


def _is_since_last(what: ast.AST, kept: set[tuple[str, str]]) -> bool:
    """`total - logged`"""
    lesses = (n for n in ast.walk(what) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub))
    return any((ast.unparse(n.left), ast.unparse(n.right)) in kept for n in lesses)


def _summed(draft: Draft, event: _Event) -> set[str]:
    """What something is added to with each step, beside an event: in the loop around it; where that is in another function,
    as it is for a callback, in its own; what an object keeps also in other methods of the class."""
    function = draft.syntax.function(event.decided)
    loops = draft.syntax.loops(event.decided)
    around: list[ast.AST] = [loops[0]] if loops else [function] if function is not None else []
    owner = draft.syntax.method_class(function) if function is not None else None
    beside = [n for root in around for n in ast.walk(root) if not event.has(draft, n)]
    found = {_added_to(n) for n in beside} | {_item_added_to(n) for n in beside}
    for n in ast.walk(owner) if owner is not None else ():
        kept = _added_to(n)
        if kept is not None and kept.startswith("self.") and not event.has(draft, n):
            if draft.facts.occasions.counted_at(n) is not None:
                found.add(kept)
    return {kept for kept in found if kept is not None}


def _added_to(n: ast.AST) -> str | None:
    """`total` of `total += loss`, `sums` of `sums[k] = sums.get(k, 0) + loss`, `losses` of `losses.append(loss)`."""
    sum_ = added(n)
    if sum_ is not None:
        return _whole(sum_.target)
    if isinstance(n, ast.Assign) and isinstance(n.value, ast.BinOp) and isinstance(n.value.op, ast.Add):
        whole = _whole(n.targets[0])
        return whole if any(ast.unparse(e) == whole for e in ast.walk(n.value) if _is_place(e)) else None
    if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "append":
        return _whole(n.func.value)
    return None


def _item_added_to(n: ast.AST) -> str | None:
    """`sums["loss"]` of `sums["loss"] += loss`."""
    sum_ = added(n)
    is_item = sum_ is not None and isinstance(sum_.target, ast.Subscript) and _is_place_or_item(sum_.target)
    return ast.unparse(sum_.target) if sum_ is not None and is_item else None


def _whole(target: ast.expr) -> str | None:
    while isinstance(target, ast.Subscript):
        target = target.value
    return ast.unparse(target) if _is_place(target) else None


def _is_place(n: ast.AST) -> TypeGuard[ast.Name | ast.Attribute]:
    return isinstance(n, (ast.Name, ast.Attribute))


def _is_place_or_item(n: ast.AST) -> TypeGuard[ast.Name | ast.Attribute | ast.Subscript]:
    return _is_place(n) or (isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant))


def _is_of(draft: Draft, divisor: ast.expr, what: ast.AST, sums: set[str], event: _Event) -> bool:
    """Whether it is one of some sums that is divided: by its name, or by one that an event gives it or its parts (`for k, v in
    sums.items()`)."""
    ratio = draft.syntax.parent[divisor]
    read = [n for e in (what, ratio.left if isinstance(ratio, ast.BinOp) else what) for n in ast.walk(e)]
    for name in [n for n in read if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]:
        for b in draft.module.scopes.reaching(name):
            if b.value is not None and event.has(draft, b.statement):
                read += ast.walk(b.value)
    return any(_is_place_or_item(n) and ast.unparse(n) in sums for n in read)


def factors(e: ast.expr) -> list[ast.expr]:
    """`n` and `size` of `float(n * size)`."""
    if (
        isinstance(e, ast.Call)
        and isinstance(e.func, ast.Name)
        and e.func.id in ("float", "int")
        and len(e.args) == 1
    ):
        return factors(e.args[0])
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult):
        return [*factors(e.left), *factors(e.right)]
    return [e]


__all__ = ["WHAT", "WHY", "factors", "keep_of_event"]
