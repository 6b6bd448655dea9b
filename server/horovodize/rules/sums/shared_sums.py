"""Sums of what each step gives that more goes by than one comparison with a number: part of G4 and G5.

    tokens += n                              tokens += sum_over_ranks(n)
    if tokens >= next_save:                  if tokens >= next_save:
        save()                                   save()
        next_save += 5000                        next_save += 5000

A rank adds up 1/size() of what one process sees. How often something happens by such a sum, which rate or weight is computed
from it, and when it begins again goes by the rows that are seen where the sum is that of all ranks. It is the same on all of
them then, so that none decides alone. What is only compared with a number is
scaled there (`sum_thresholds`), which costs nothing.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from horovodize.facts.counting.row_counts import is_divided_by, is_index, is_shown
from horovodize.facts.counting.variable_additions import unconverted
from horovodize.facts.differences.answers import Uniform
from horovodize.python.syntax import Loop, argument
from horovodize.rules.counts.unseen_counts import only_shows
from horovodize.rules.drafting.decisions import Agreed, Amount, Counted
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import counts_a_share, feeding
from horovodize.rules.sums.sums_of_steps import (
    Sum,
    is_place,
    key_of,
    reads_of,
    sets_number,
    settings_of,
    sums,
)
from horovodize.rules.weights.target_networks import losses_of
from horovodize.source import Edit

_WHAT = "Add up what all ranks' steps give"
_WHY = "A rank adds up 1/size() of what is seen; what goes by the sum goes by all of it."
_WHAT_WINDOW = "Let it happen once in as much of the sum of all ranks"
_DOUBT = (
    "this sum is of a rank's own steps, 1/size() of what one process adds up: check that what goes by it happens as often for "
    "the rows that are seen"
)
_FAR = 2000  # nodes that rates and losses are made of
_RATES = ("lr", "learning_rate", "_lr", "_learning_rate")
_WINDOW = (ast.Lt, ast.LtE)


@dataclass(frozen=True, eq=False)
class _Plan:
    """A sum that something goes by, with those that are divided by it; and the tests that go round, `total % 2000 < n`, each
    with its `n`."""

    total: Sum
    family: tuple[Sum, ...]
    windows: tuple[tuple[ast.Compare, ast.expr], ...]


def apply(draft: Draft, *, asks: bool) -> None:
    """Lets the sums that more goes by count what all ranks' steps give. Runs before tests in loops are agreed on, and again for
    the loops that are divided later.

    asks: about those that can't be told"""
    if draft.in_graph or draft.in_sessions or not draft.divided:
        return
    divided = {d for d in feeding(draft).drivers if counted.is_divided(draft, d)}
    known = list(sums(draft, divided)) if divided else []
    rates = _made_of_rates(draft) if known else set()
    losses = set(draft.values.depends(list(losses_of(draft)), _FAR)) if known else set()
    plans = list(_plans(draft, known, losses, rates))
    while failing := [plan for plan in plans if not _can_be(draft, plan, plans)]:
        plans = [plan for plan in plans if plan not in failing]  # of which others may lean on some
        for statement in (plan.total.adding[0][0] for plan in failing):
            if asks and draft.once("own sum", statement):
                draft.ask("G5", statement, _WHAT, _WHY, _DOUBT)
    _share(draft, plans)


def _plans(draft: Draft, known: list[Sum], losses: set[ast.AST], rates: set[ast.AST]) -> Iterator[_Plan]:
    """losses, rates: all that they are made of; rates have to be the same on all ranks"""
    for total in known:
        reads = [n for n in reads_of(draft, total.target) if _is_in_loops(draft, n, total)]
        if any(_is_changed(draft, sum_.value) for _, sum_ in total.adding):
            continue  # a mean over all ranks, since later losses are made with it (`steered`, `drifting`)
        triggers = [n for n in reads if _goes_by(draft, n, total, losses | rates)]
        if total.counts_rows:  # its tests are told how far it goes
            triggers = [n for n in triggers if n in rates]
        if triggers:
            windows = [found for n in triggers if (found := _window(draft, n)) is not None]
            yield _Plan(total, (total, *_dividends(draft, total, reads, known)), tuple(windows))


def _can_be(draft: Draft, plan: _Plan, plans: list[_Plan]) -> bool:
    """Whether a sum can be that of all ranks, where those of all plans are."""
    added_up = [sum_.value for p in plans for t in p.family for _, sum_ in t.adding]
    agreed = frozenset([*draft.having(Agreed), *added_up])
    return all(_can_be_shared(draft, t, plan.family, agreed) for t in plan.family) and all(
        _is_window_known(draft, test, width, plan.total, agreed) for test, width in plan.windows
    )


def _is_changed(draft: Draft, value: ast.expr) -> bool:
    """Whether something is done to a value already."""
    span = draft.module.span(value)
    return any(isinstance(e, Edit) and e.anchor == span for c in draft.changes for e in c.edits)


def is_of_all(draft: Draft, value: ast.AST) -> bool:
    """Whether what is added is that of all ranks."""
    return draft.was(value, Agreed) and draft.was(value, Counted)


def _share(draft: Draft, plans: list[_Plan]) -> None:
    """Adds up what all ranks' steps give; where that has a name, which is for nothing else, it is asked for once."""
    values: list[tuple[ast.expr, ast.AST, str]] = [
        (sum_.value, s, _WHAT) for plan in plans for total in plan.family for s, sum_ in total.adding
    ]
    for test, width, total in ((*window, plan.total) for plan in plans for window in plan.windows):
        if _is_added(width, total):
            values.append((width, test, _WHAT_WINDOW))
        elif draft.decide(width, Counted("G5")):
            draft.change("G5", test, _WHAT_WINDOW, _WHY, draft.times(width, SIZE))
    own = {value for value, _, _ in values}
    for value, statement, what in values:
        if not (draft.decide(value, Agreed("G5")) and draft.decide(value, Counted("G5"))):
            continue
        measured, place = _measured_once(draft, value, own) or (value, statement)
        if measured is value or draft.decide(measured, Agreed("G5")):
            around = Edit.around(draft.module.span(measured), f"{draft.helper('sum_over_ranks')}(", ")")
            draft.change("G5", place, what, _WHY, around)


def _measured_once(draft: Draft, value: ast.expr, own: set[ast.expr]) -> tuple[ast.expr, ast.stmt] | None:
    """Where a name is set, in the same block, that is read for sums of all ranks alone, or shown: `n = int(n)`."""
    bound = draft.module.scopes.reaching(value) if isinstance(value, ast.Name) else []
    if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path or bound[0].value is None:
        return None
    place = bound[0].statement
    if not isinstance(place, ast.Assign) or len(place.targets) > 1:
        return None
    block = draft.syntax.block(draft.syntax.statement(value))
    reads = [
        n
        for n in draft.module.loads.get(bound[0].name)
        if isinstance(n, ast.Name) and bound[0] in draft.module.scopes.reaching(n)
    ]
    for_sums = all(n in own or is_shown(draft.syntax, n) for n in reads)
    return (bound[0].value, place) if place in block and for_sums and len(reads) > 1 else None


# ---------------------------------------------------------------------- what goes by it


def _is_in_loops(draft: Draft, read: ast.expr, total: Sum) -> bool:
    at = draft.facts.occasions.counted_at(read)
    return at is not None and bool(at[0] & total.drivers)


def _made_of_rates(draft: Draft) -> set[ast.AST]:
    """All that rates are made of where loops set them."""
    roots: list[ast.AST] = []
    for call in (*draft.sites.method_calls("assign"), *draft.module.calls_called("set_value")):
        kept = (
            call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "assign" else None
        )
        kept = kept if kept is not None else argument(call, "x", 0)
        if isinstance(kept, ast.Attribute) and kept.attr in _RATES and call.args:
            roots.append(call.args[-1])
    for s in draft.syntax.every(ast.Assign):
        if any(isinstance(t, ast.Attribute) and t.attr in _RATES for t in s.targets):
            roots.append(s.value)
    return set(draft.values.depends(roots, _FAR))


def _goes_by(draft: Draft, read: ast.expr, total: Sum, steered: set[ast.AST]) -> bool:
    """Whether something else than a comparison with a number, or what is shown, goes by a read."""
    if is_shown(draft.syntax, read) or is_divided_by(draft.syntax, read):
        return False
    if read in steered:
        return True
    test = next((a for a in draft.syntax.ancestors(read) if isinstance(a, (ast.Compare, ast.stmt))), None)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or only_shows(draft, test):
        return False
    sides = (test.left, test.comparators[0])
    own = next(e for e in sides if draft.syntax.inside(read, e))
    other = next(e for e in sides if e is not own)
    own = read if unconverted(own) is read else own
    if isinstance(own, ast.BinOp) and isinstance(own.op, (ast.Div, ast.Sub)):
        return False  # a mean; a distance from an earlier sum, which is compared with a number
    if own is not read and not _goes_round(own):
        return False
    if own is not read or _moves(draft, other):
        return True
    return total.begins_again and not _is_of_such_sums(draft, other, total)


def _goes_round(e: ast.expr) -> bool:
    """`tokens % 2000`, `tokens // 2000`, `int(tokens / 2000)`"""
    if isinstance(e, ast.Call) and len(e.args) == 1:
        inner = e.args[0]
        return isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Div, ast.FloorDiv))
    return isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Mod, ast.FloorDiv))


def _moves(draft: Draft, bound: ast.expr) -> bool:
    """Whether what a sum is compared with is a place that a loop moves on by something: `next_save += 5000`."""
    if not is_place(bound):
        return False
    return any(
        not sets_number(draft, s, value)
        and draft.facts.occasions.counted_at(s) is not None
        and isinstance(s if isinstance(s, ast.AugAssign) else value, (ast.AugAssign, ast.BinOp))
        for s, value in settings_of(draft, bound)
    )


def _is_of_such_sums(draft: Draft, bound: ast.expr, total: Sum) -> bool:
    """Whether it is another of the sums of a rank, `best = total`, as large as they are."""
    key = key_of(draft, total.target)
    values = [value for _, value in settings_of(draft, bound)] if is_place(bound) else []
    return any(
        is_place(n) and key_of(draft, n) == key
        for value in values
        if value is not None
        for n in ast.walk(value)
    )


# ---------------------------------------------------------------------- whether it can be


def _dividends(draft: Draft, total: Sum, reads: list[ast.expr], known: list[Sum]) -> list[Sum]:
    """The sums that are divided by one, `loss_sum / tokens`: both are of all ranks then."""
    found = dict[int, Sum]()
    for read in reads:
        ratio = draft.syntax.parent[read]
        if isinstance(ratio, ast.BinOp) and ratio.right is read and is_place(ratio.left):
            key = key_of(draft, ratio.left)
            found |= {id(s): s for s in known if s is not total and key_of(draft, s.target) == key}
    return list(found.values())


def _can_be_shared(draft: Draft, total: Sum, divisors: Sequence[Sum], agreed: frozenset[ast.AST]) -> bool:
    """Whether all ranks come to where a sum is added up, and nothing takes it for a rank's own."""
    if not total.is_by_step or not all(_is_reached(draft, s, total, agreed) for s, _ in total.adding):
        return False
    if any(_is_in_branch(draft, sum_.value) for _, sum_ in total.adding):
        return False
    keys = {key_of(draft, d.target) for d in divisors}
    for read in reads_of(draft, total.target):
        if is_index(draft.syntax, read):
            return False
        ratio = draft.syntax.parent[read]
        if is_divided_by(draft.syntax, read) and not is_shown(draft.syntax, read):
            beside = ratio.left if isinstance(ratio, ast.BinOp) else None
            if beside is None or not is_place(beside) or key_of(draft, beside) not in keys:
                return False
        if isinstance(ratio, ast.BinOp) and isinstance(ratio.op, ast.Div) and ratio.left is read:
            by_sum = is_place(ratio.right) and key_of(draft, ratio.right) in keys
            may_count = not total.is_whole and _may_be_number_of_steps(draft, ratio.right)
            if not by_sum and (may_count or _counts_steps(draft, ratio.right)):
                return False
    return True


def _is_reached(draft: Draft, place: ast.AST, total: Sum, agreed: frozenset[ast.AST]) -> bool:
    """Whether all ranks come to a place alike, once the sum is the same on all of them: a loop may end by it. How the loops go
    around the one that takes the steps they decide together, for those steps."""
    if outputs_of(draft).is_early(place):
        return False
    uniform, loops = draft.facts.uniform.where(agreed), {d.loop for d in total.drivers}
    frames = [frame.node for way in draft.drive.ways(place) for frame in way]
    if not all(isinstance(uniform.number_of(e), Uniform) for e in _repeated_by(draft, place, loops)):
        return False
    if isinstance(uniform.reach(place), Uniform):
        return True
    under = [test for node in frames for test, _ in draft.syntax.conditions(node)]
    tests = [t.test for t in under if not any(draft.syntax.inside(loop, t) for loop in loops)]
    tests += [t.test for node in frames for t in draft.facts.occasions.skipped_by(node, {*total.drivers})]
    tests += [e for node in frames for e in _asked_before(draft, node)]
    return not any(True for test in tests for _ in uniform.reasons(test))


def _repeated_by(draft: Draft, place: ast.AST, loops: set[Loop]) -> Iterator[ast.expr]:
    """What loops in a turn of a driver go through, within which something is added up."""
    for way in draft.drive.ways(place):
        for loop in (loop for frame in way for loop in frame.loops):
            if loop in loops:
                break
            yield loop.test if isinstance(loop, ast.While) else loop.iter


def _asked_before(draft: Draft, node: ast.AST) -> Iterator[ast.expr]:
    """What decides in a test whether a part of it is come to: `loss < 2` of `loss < 2 and count(rows)`."""
    child = node
    for a in draft.syntax.ancestors(node):
        if isinstance(a, (ast.stmt, ast.Lambda)):
            return
        if isinstance(a, ast.BoolOp):
            yield from a.values[: next(i for i, v in enumerate(a.values) if v is child)]
        child = a


def _is_in_branch(draft: Draft, place: ast.AST) -> bool:
    """Whether TensorFlow may leave out what a traced function does there: it is handed the function around it, as `tf.cond`."""
    for way in draft.drive.ways(place):
        for inner, outer in itertools.pairwise(way):
            if draft.drive.in_traced(outer.node) and isinstance(outer.node, ast.Call):
                if inner.function not in draft.values.graph.runs(outer.node):
                    return True
        traced = [frame.node for frame in way if draft.drive.in_traced(frame.node)]
        if any(isinstance(a, ast.Lambda) for node in traced for a in draft.syntax.ancestors(node)):
            return True
    return False


def _may_be_number_of_steps(draft: Draft, e: ast.expr) -> bool:
    """Whether a number may be that of the steps that a sum is of: a mean is made by it."""
    return draft.facts.feeding.kinds.constant(e) is not None or is_place(e)


def _counts_steps(draft: Draft, e: ast.expr) -> bool:
    """Whether a number counts steps, or is divided as they are: `k + 1`, `max(1, n)`."""
    parts = [n for n in ast.walk(e) if isinstance(n, ast.expr)]
    return any(
        counted.of(draft, n) is not None or counts_a_share(draft, n) or draft.was(n, Amount) for n in parts
    )


def _window(draft: Draft, read: ast.expr) -> tuple[ast.Compare, ast.expr] | None:
    """`tokens % 2000 < n` and `n` of a read of `tokens` in it."""
    modulo = next((a for a in draft.syntax.ancestors(read) if isinstance(a, (ast.BinOp, ast.stmt))), read)
    test = draft.syntax.parent[modulo]
    is_modulo = isinstance(modulo, ast.BinOp) and isinstance(modulo.op, ast.Mod)
    if not isinstance(modulo, ast.BinOp) or not is_modulo or unconverted(modulo.left) is not read:
        return None
    if not isinstance(test, ast.Compare) or test.left is not modulo:
        return None
    return test, test.comparators[0]


def _is_window_known(
    draft: Draft, test: ast.Compare, width: ast.expr, total: Sum, agreed: frozenset[ast.AST]
) -> bool:
    """Whether a test that goes round can be told how far the sum of all ranks goes in a step."""
    if not isinstance(test.ops[0], _WINDOW):
        return False
    if _is_added(width, total):
        return _is_reached(draft, test, total, agreed)
    return draft.facts.feeding.kinds.constant(width) is not None


def _is_added(width: ast.expr, total: Sum) -> bool:
    return any(ast.unparse(width) == ast.unparse(sum_.value) for _, sum_ in total.adding)


__all__ = ["apply", "is_of_all"]
