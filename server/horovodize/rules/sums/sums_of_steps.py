"""What loops add up with each of their steps, in names, fields and items: part of G4 and G5 (`shared_sums`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from horovodize.facts.counting.row_counts import is_number_of_rows
from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.augmented import Augmented, added
from horovodize.rules.drafting.decisions import Agreed, Amount
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import with_each_step
from horovodize.rules.numbers.shares import counts_a_share
from horovodize.summary.feeding import Driver

_OWN = (Source.ROWS, Source.CHANCE)  # rows that a rank is dealt, or draws
_COUNTING = ("int", "len", "count_nonzero")
_NEVER_LESS = ("abs", "square", "len", "count_nonzero")  # than 0, whatever they are given
Place: TypeAlias = ast.Name | ast.Attribute | ast.Subscript


@dataclass(frozen=True)
class Sum:
    """What is added up with each step of divided loops: `adding`, in which statements; `settings` of another kind, inside the
    loops and before."""

    target: Place
    adding: tuple[tuple[ast.stmt, Augmented], ...]
    drivers: frozenset[Driver]
    begins_again: bool
    is_by_step: bool
    is_whole: bool  # of whole numbers, which count something
    counts_rows: bool  # as G6 sees, which lets it go on by size() batches where nothing has to be the same on all ranks


def sums(draft: Draft, divided: set[Driver]) -> Iterator[Sum]:
    """The sums of what steps of divided loops measure by their rows."""
    found = dict[str, list[tuple[ast.stmt, Augmented]]]()
    for s in draft.syntax.every(ast.AugAssign, ast.Assign):
        sum_ = added(s)
        if sum_ is not None and is_place(sum_.target):
            found.setdefault(key_of(draft, sum_.target), []).append((s, sum_))
    for call in draft.sites.method_calls("assign_add"):  # of a `tf.Variable`
        kept = call.func.value if isinstance(call.func, ast.Attribute) else None
        if kept is not None and is_place(kept) and len(call.args) == 1 and draft.names.of(call.func) is None:
            sum_ = Augmented(kept, ast.Add(), call.args[0])
            found.setdefault(key_of(draft, kept), []).append((draft.syntax.statement(call), sum_))
    for adding in found.values():
        total = _sum_of(draft, tuple(adding), divided)
        if total is not None:
            yield total


def _sum_of(draft: Draft, adding: tuple[tuple[ast.stmt, Augmented], ...], divided: set[Driver]) -> Sum | None:
    drivers, by_step, counts_rows = set[Driver](), True, False
    whole = all(_is_whole(draft, sum_.value) for _, sum_ in adding)
    for statement, sum_ in adding:
        if _is_under_tape(draft, statement):
            return None
        at = draft.facts.occasions.counted_at(statement)
        if at is None or at[1] or not at[0] or not at[0] <= divided:
            return None
        if draft.facts.occasions.are_seldom(statement, at[0]):
            return None
        by_step = by_step and with_each_step.is_by_step(draft, statement)
        counter = draft.facts.counters.of(sum_.target)
        if (counter is not None and not counter.rows) or not _is_measured(draft, sum_.value):
            return None
        counts_rows = counts_rows or counter in draft.facts.counters.listed.of_rows
        if _may_be_less(draft, sum_):
            return None
        drivers |= at[0]
    target, again = adding[0][1].target, False
    if any(_is_item_of_turn(draft, sum_.target) for _, sum_ in adding):
        return None
    own = {s for s, _ in adding}
    assigned = draft.sites.method_calls("assign", "assign_sub")
    if any(_sets(draft, call, target) for call in assigned):
        return None
    for s, value in settings_of(draft, target):
        if s in own:
            continue
        inside = draft.facts.occasions.counted_at(s)
        if inside is not None and inside[0] & drivers and with_each_step.is_by_step(draft, s):
            return None  # it is that of one step
        if not sets_number(draft, s, value) and (inside is not None or not _may_be_number(draft, s, value)):
            return None
        again = again or inside is not None
    return Sum(target, adding, frozenset(drivers), again, by_step, whole, counts_rows)


def _is_item_of_turn(draft: Draft, target: Place) -> bool:
    """Whether each turn of a loop begins again with something: the batch of `for x, y in data: x = x + table[y]`."""
    bound = draft.module.scopes.reaching(target) if isinstance(target, ast.Name) else []
    return any(b.kind == "item" for b in bound)


def _is_under_tape(draft: Draft, place: ast.AST) -> bool:
    """Whether what is added is a part of a loss, of which gradients are taken, also in a function that computes it."""
    tapes = draft.sites.tapes
    frames = (frame.node for way in draft.drive.ways(place) for frame in way)
    return any(
        isinstance(around, ast.With) and any(item.context_expr in tapes for item in around.items)
        for node in (place, *frames)
        for around in draft.syntax.ancestors(node)
    )


def _sets(draft: Draft, call: ast.Call, target: Place) -> bool:
    """`total.assign(0)`"""
    kept = call.func.value if isinstance(call.func, ast.Attribute) else None
    return kept is not None and is_place(kept) and key_of(draft, kept) == key_of(draft, target)


def _is_measured(draft: Draft, value: ast.expr) -> bool:
    """Whether something is a number that a rank's own rows decide, or that of its rows: not what is divided by its number of
    steps already."""
    if draft.facts.feeding.kinds.constant(value) is not None or draft.was(value, Agreed, Amount):
        return False
    reasons = list(draft.uniform.reasons(value))
    varying = [r for r in reasons if isinstance(r, Varies)]
    of_rows = bool(varying) and all(r.kind in _OWN for r in varying)
    if not of_rows and not _is_number_of_rows(draft, value):
        return False
    return not is_divided_by_steps(draft, value)


def is_divided_by_steps(draft: Draft, value: ast.expr) -> bool:
    """Whether something is divided by a rank's number of steps already: `loss / steps`."""
    divisors = (n.right for n in ast.walk(value) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div))
    return any(
        draft.was(part, Amount) or counts_a_share(draft, part)
        for divisor in divisors
        for part in ast.walk(divisor)
        if isinstance(part, ast.expr)
    )


def _is_whole(draft: Draft, value: ast.expr) -> bool:
    """`int(tf.reduce_sum(mask))`, `len(x)`, also by a name"""
    found = [value, *(o.node for o in draft.values.origins(value) if not o.path)]
    return any(
        is_number_of_rows(n) or (isinstance(n, ast.Call) and draft.names.last(n.func) in _COUNTING)
        for n in found
        if isinstance(n, ast.expr)
    )


def _may_be_less(draft: Draft, sum_: Augmented) -> bool:
    """Whether a number may also go back, as one that follows another: `k += 0.1 * (loss - k)`."""
    made_of = [sum_.value, *(o.node for o in draft.values.origins(sum_.value))]
    own = ast.unparse(sum_.target)
    if any(isinstance(n, ast.expr) and ast.unparse(n) == own for e in made_of for n in ast.walk(e)):
        return True
    while made_of:
        n = made_of.pop()
        if isinstance(n, (ast.Sub, ast.USub)):
            return True
        counts = isinstance(n, ast.Call) and draft.names.last(n.func) in _NEVER_LESS
        made_of += () if counts or isinstance(n, ast.Compare) else ast.iter_child_nodes(n)
    return False


def _is_number_of_rows(draft: Draft, value: ast.expr) -> bool:
    """`n`, where `n = int(x.shape[0])`"""
    found = draft.values.origins(value) if isinstance(value, (ast.Name, ast.Attribute)) else []
    measured = [o.node for o in found if not o.path and isinstance(o.node, (ast.Call, ast.Subscript))]
    return bool(found) and len(measured) == len(found) and all(map(is_number_of_rows, measured))


def is_place(e: ast.AST) -> TypeGuard[Place]:
    """A name, a field, or an item that is called by a constant."""
    if isinstance(e, ast.Subscript):
        return isinstance(e.slice, ast.Constant) and isinstance(e.value, (ast.Name, ast.Attribute))
    return isinstance(e, ast.Name) or (isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name))


def key_of(draft: Draft, e: ast.expr) -> str:
    """What a place is: its name and where that lives."""
    whole = e.value if isinstance(e, ast.Subscript) else e
    home: ast.AST | None = None
    if isinstance(whole, ast.Name):
        home = draft.module.scopes.lookup(whole.id, whole)
    elif isinstance(whole, ast.Attribute):
        home = draft.syntax.method_class(draft.syntax.function(whole))
    return f"{ast.unparse(e)} {id(home)}"


def settings_of(draft: Draft, target: Place) -> Iterator[tuple[ast.stmt, ast.expr | None]]:
    """The statements that set a place, and to what; None where that can't be seen: of `n, losses = 0, []` 0."""
    key = key_of(draft, target)
    for s in draft.syntax.every(ast.Assign, ast.AugAssign, ast.AnnAssign):
        for t in s.targets if isinstance(s, ast.Assign) else [s.target]:
            if is_place(t) and key_of(draft, t) == key:
                yield s, s.value
            parts = t.elts if isinstance(t, (ast.Tuple, ast.List)) else []
            values = s.value.elts if isinstance(s.value, (ast.Tuple, ast.List)) else []
            for i, part in enumerate(parts):
                if is_place(part) and key_of(draft, part) == key:
                    yield s, values[i] if len(values) == len(parts) else None


def sets_number(draft: Draft, s: ast.stmt, value: ast.expr | None) -> bool:
    """Whether a statement sets a number that is written out, or takes one away: `n, last = 0, 0`, `since -= 5000`."""
    if value is None or (isinstance(s, ast.AugAssign) and not isinstance(s.op, (ast.Sub, ast.Mod))):
        return False
    written = isinstance(value, ast.Constant) and type(value.value) in (int, float)
    return written or draft.facts.feeding.kinds.constant(value) is not None


def _may_be_number(draft: Draft, s: ast.stmt, value: ast.expr | None) -> bool:
    """Whether a statement may set a number: one that an earlier run has come to, or a variable with one. No array."""
    if isinstance(s, ast.AugAssign):
        return False
    if isinstance(value, ast.Call):
        name = draft.names.last(value.func)
        return name in ("int", "float", "get", "item", "numpy", "Variable", "max", "min")
    return value is None or isinstance(
        value, (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)
    )


def reads_of(draft: Draft, target: Place) -> list[ast.expr]:
    """Where a place is read, but in what adds to it."""
    key = key_of(draft, target)
    return [
        n
        for n in draft.syntax.every(ast.Name, ast.Attribute, ast.Subscript)
        if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))
        and isinstance(n.ctx, ast.Load)
        and is_place(n)
        and key_of(draft, n) == key
        and not _adds(draft, n, key)
    ]


def _adds(draft: Draft, read: ast.expr, key: str) -> bool:
    sum_ = added(draft.syntax.statement(read))
    return sum_ is not None and is_place(sum_.target) and key_of(draft, sum_.target) == key


__all__ = [
    "Place",
    "Sum",
    "is_divided_by_steps",
    "is_place",
    "key_of",
    "reads_of",
    "sets_number",
    "settings_of",
    "sums",
]
