"""Numbers of steps that a program moves on itself (`next_save += 500`), or counts from (`step - last > 100`): part of G5."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.plan import Decision
from horovodize.python.binding import Binding
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, ends_after_starts
from horovodize.source import Edit

_READ = (ast.Name, ast.Attribute)
WHAT = "Let it happen as often for the rows that are seen"
WHY = "Each rank takes size() times fewer steps; after as many rows, size() times fewer have been counted."


def until(draft: Draft, bound: ast.expr) -> ast.expr:
    """`100` of `last + 100`, where `last` is the number of an earlier step, also by a name; else the bound itself."""
    after_start = ends_after_starts.added_steps(draft, bound)
    if after_start is not None:
        return after_start
    adds = isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Add)
    if not adds or not isinstance(bound, ast.BinOp) or not isinstance(bound.left, (ast.Name, ast.Attribute)):
        return bound
    return bound.right if is_of_a_step(draft, bound.left) else bound


def since(draft: Draft, e: ast.expr) -> ast.expr | None:
    """`step` of `step - last`, where `last` is the number of an earlier step; None for all else."""
    if not (isinstance(e, ast.BinOp) and isinstance(e.op, ast.Sub)):
        return None
    if counted.of(draft, e.left) is None or not isinstance(e.right, (ast.Name, ast.Attribute)):
        return None
    return e.left if is_of_a_step(draft, e.right) else None


def is_of_a_step(draft: Draft, e: ast.Name | ast.Attribute) -> bool:
    """Whether a variable holds the number of an earlier step, or none yet."""
    given = [_given(b) for b in _bindings(draft, e)]
    return bool(given) and all(v is not None and _is_earlier(draft, v) for v in given)


def _is_earlier(draft: Draft, e: ast.expr) -> bool:
    """Whether a value is the number of an earlier step, or stands for none."""
    is_none = isinstance(e, ast.Constant) and e.value is None
    return is_none or _is_low(draft, e) or counted.of(draft, e) is not None


def _given(b: Binding) -> ast.expr | None:
    """What a name is set to: of `seen, last = 0, 0` its own part."""
    value = b.value if b.kind == "assign" else None
    for i in b.path:
        if not isinstance(value, (ast.Tuple, ast.List)) or not 0 <= i < len(value.elts):
            return None
        value = value.elts[i]
    return value


def moves_on(draft: Draft, test: ast.expr, bound: ast.expr) -> bool:
    """Divides what a bound starts with and moves on by: `next_save = 500`, `next_save += 500`, `next_save = step + 500`.
    Whether it is such a bound."""
    if not isinstance(bound, (ast.Name, ast.Attribute)):
        return False
    bindings = _bindings(draft, bound)
    text = ast.unparse(bound)
    steps = [_amount(draft, b) for b in bindings]
    moved = [b for b in bindings if b.kind == "augment" or _is_from_step(draft, b)]
    if not moved or None in steps or not _is_only_compared(draft, text, bindings):
        return False
    edits = list(_divided(draft, [s for s in steps if s is not None]))
    if edits:
        draft.change("G5", test, WHAT, WHY, edits, decision=Decision.DIVIDED)
    return True


def goes_on_from(draft: Draft, test: ast.expr, bound: ast.expr) -> bool:
    """Divides 500 in `last + 500`, and where `last` goes on by it: `last = step` at first, `last += 500` then. Whether the
    bound is such a one."""
    if not (isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Add) and isinstance(bound.left, _READ)):
        return False
    bindings, by = _bindings(draft, bound.left), bound.right
    moved = [b.value for b in bindings if b.kind == "augment" and isinstance(b.operator, ast.Add)]
    begun = [_given(b) for b in bindings if b.kind != "augment"]
    if not moved or any(value is None or ast.unparse(value) != ast.unparse(by) for value in moved):
        return False
    if not counted.is_whole(draft, by) or not all(v is not None and _is_earlier(draft, v) for v in begun):
        return False
    amounts = [e for e in (by, *moved) if e is not None and not draft.was(e, Divided)]
    edits = [edit for e in amounts for edit in counted.over_ranks(draft, e, "G5")]
    if edits:
        draft.change("G5", test, WHAT, WHY, edits, decision=Decision.DIVIDED)
    return True


def goes_back(draft: Draft, test: ast.expr, number: ast.expr, bound: ast.expr) -> bool:
    """Divides 500 in `last == step - 500`, where `last` is set to the number of a step. Whether the test is such a one."""
    if not (isinstance(number, ast.BinOp) and isinstance(number.op, ast.Sub) and isinstance(bound, _READ)):
        return False
    by, known = number.right, draft.facts.feeding.kinds.constant(number.right)
    if counted.of(draft, number.left) is None or not counted.is_whole(draft, by):
        return False
    if known is not None and known <= 1:
        return False
    given = [_given(b) for b in _bindings(draft, bound)]
    if not any(v is not None and counted.of(draft, v) is not None for v in given):
        return False
    edits = list(counted.over_ranks(draft, by, "G5")) if not draft.was(by, Divided) else []
    if edits:
        draft.change("G5", test, WHAT, WHY, edits, decision=Decision.DIVIDED)
    return True


def changes(draft: Draft, bound: ast.expr) -> bool:
    """Whether a bound is a number of steps that the program makes another of as it goes on: `period *= 2`,
    `period = period * factor`."""
    if not isinstance(bound, (ast.Name, ast.Attribute)):
        return False
    bindings = _bindings(draft, bound)
    if not counted.is_whole(draft, bound) or any(b.kind not in ("assign", "augment") for b in bindings):
        return False
    return any(b.kind == "augment" or _is_made_of_itself(b, ast.unparse(bound)) for b in bindings)


def _is_made_of_itself(b: Binding, name: str) -> bool:
    parts = ast.walk(b.value) if b.value is not None else ()
    return any(isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) == name for n in parts)


def _is_only_compared(draft: Draft, name: str, bindings: list[Binding]) -> bool:
    """Whether a number is read where it is compared, and where it moves on: elsewhere it may mean something else."""
    own = {b.statement for b in bindings}
    for n in draft.syntax.every(ast.Name, ast.Attribute):
        if ast.unparse(n) == name and isinstance(n.ctx, ast.Load):
            around = (draft.syntax.parent.get(n), draft.syntax.statement(n))
            if not isinstance(around[0], ast.Compare) and around[1] not in own:
                return False
    return True


def _amount(draft: Draft, b: Binding) -> ast.expr | None:
    """The number of steps that a binding starts with or moves on by."""
    value = b.value
    if b.path or value is None:
        return None
    if b.kind == "augment":
        return value if isinstance(b.operator, ast.Add) and _is_number(draft, value) else None
    if b.kind != "assign":
        return None
    if isinstance(value, ast.BinOp) and _is_from_step(draft, b):
        return value.right if _is_number(draft, value.right) else None
    return value if _is_number(draft, value) else None


def _is_from_step(draft: Draft, b: Binding) -> bool:
    """`next_save = step + 500`"""
    value = b.value
    adds = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
    return (
        b.kind == "assign"
        and adds
        and isinstance(value, ast.BinOp)
        and counted.of(draft, value.left) is not None
    )


def _is_number(draft: Draft, e: ast.expr) -> bool:
    return draft.facts.feeding.kinds.constant(e) is not None and counted.is_whole(draft, e)


def _is_low(draft: Draft, e: ast.expr) -> bool:
    """`last = 0`, `last = -1`"""
    fixed = not isinstance(e, (ast.Name, ast.Attribute)) or len(_bindings(draft, e)) == 1
    known = draft.facts.feeding.kinds.constant(e) if fixed else None
    below = isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub) and isinstance(e.operand, ast.Constant)
    return below or (known is not None and known <= 1)


def _divided(draft: Draft, steps: Iterable[ast.expr]) -> Iterable[Edit]:
    for e in steps:
        known = draft.facts.feeding.kinds.constant(e)
        if known is not None and known > 1 and not draft.was(e, Divided):
            yield from counted.over_ranks(draft, e, "G5")


def _bindings(draft: Draft, e: ast.Name | ast.Attribute) -> list[Binding]:
    if isinstance(e, ast.Attribute):
        return draft.values.attribute_bindings(e)
    home = draft.module.scopes.lookup(e.id, e)
    return list(draft.module.scopes.names[home].get(e.id, ())) if isinstance(home, ast.AST) else []


__all__ = ["WHAT", "WHY", "changes", "goes_back", "is_of_a_step", "moves_on", "since", "until"]
