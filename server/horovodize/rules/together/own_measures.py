"""What makes ranks decide a test differently, where each measures it by its own rows: a mean of losses, a sum over an epoch,
what a stopper or a plateau was told of them. Part of G4, S5 and G2; `means` averages it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.over_rows import Over
from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES, LOOPS, Loop, argument, end, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.lengths import growing
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.scaling import strong
from horovodize.rules.together import picked_numbers
from horovodize.rules.together.any_rank_test import can_agree, differing
from horovodize.rules.together.number_parts import Held, held_in, is_item, leaves, list_of

_MEANS = ("mean", "nanmean", "average", "reduce_mean", "sum", "reduce_sum", "fsum")
_APPENDING = ("append", "appendleft", "add")


@dataclass(frozen=True)
class Total:
    """What a loop adds up in a name."""

    name: str
    loop: Loop


Measured = Binding | Total | ast.expr


def measured_in(
    draft: Draft, e: ast.expr, seen: set[ast.AST], *, number: bool = False
) -> set[Measured] | None:
    """What makes an expression differ between ranks, where that is measured: `mean = np.mean(losses)`, also behind
    `best = mean` and `bad += 1` under a test of it; `total` itself where it is added up. None where it is anything else.

    number: whether the expression is one"""
    return _measured_of(draft, leaves(draft, e, number), seen)


def _measured_of(
    draft: Draft, computed_with: list[tuple[ast.expr, bool]], seen: set[ast.AST]
) -> set[Measured] | None:
    """The same of the values that one expression computes with, or several, and whether each is a number."""
    found, behind = set[Measured](), seen
    done, read_here = set[str](), set[str]()
    for leaf, counts in sorted(computed_with, key=lambda of: not of[1]):
        if counts and ast.unparse(leaf) in read_here:
            found.add(leaf)  # each of the two of `h[n] > h[n - 1] and h[n - 1] > h[n - 2]`
        if ast.unparse(leaf) in done or not differing(draft, leaf):
            continue  # `last` of `last and mean < last` is a number, as the other one says
        seen = set(behind)  # a number that is averaged where another part reads it, isn't here
        of_leaf: set[Measured] | None = None
        if (picking := picked_numbers.picking(draft, leaf)) is not None:
            of_leaf = _put_into(draft, picked_numbers.lists_in(draft, picking), seen)
        is_number = counts or _begins_with_number(draft, leaf)
        total = _total(draft, leaf) if is_number and isinstance(leaf, ast.Name) else None
        if picking is not None:
            if of_leaf is None:
                return None
        elif total is not None:
            of_leaf = {total}
        elif is_number and isinstance(leaf, ast.Name) and _is_differentiated(draft, leaf):
            of_leaf = {leaf}  # where it is read: the loss that a tape follows stays as it is
        elif isinstance(leaf, (ast.Name, ast.Attribute)) or is_item(leaf):
            of_leaf = _set_by(draft, leaf, seen, is_number)
            if of_leaf is None and picked_numbers.is_picked(draft, leaf):
                return None
            if (
                isinstance(leaf, (ast.Name, ast.Attribute))
                and of_leaf is None
                and is_number
                and _is_of_rows(draft, leaf)
            ):
                of_leaf = _assigned(draft, leaf, seen)
        if of_leaf and isinstance(leaf, ast.Attribute) and is_number and _is_of_rows(draft, leaf):
            if any(isinstance(m, Binding) and _is_with_each_step(draft, place(m)) for m in of_leaf):
                of_leaf = {leaf}  # `meter.avg`, which each step sets: as it is read
        if of_leaf is None and is_number:
            of_leaf = _listed(draft, leaf, seen)
        if of_leaf is None and is_number and _is_of_rows(draft, leaf) and not _counts(draft, leaf):
            of_leaf = {leaf}
        if of_leaf is None:
            of_leaf = _answered(draft, leaf, seen)
        if of_leaf is None:
            return None
        found |= of_leaf
        done.add(ast.unparse(leaf))
        read_here |= {ast.unparse(leaf)} if leaf in of_leaf else set()
    return found


def _answered(draft: Draft, e: ast.expr, seen: set[ast.AST]) -> set[Measured] | None:
    """The same of what a function or a property of the program answers, `stopper.should_stop(loss)`: by all that it gives back
    and what decides that; None for anything else."""
    run = draft.values.graph.runs(e) if isinstance(e, ast.Call) else []
    given = [value for f in run if isinstance(f, CALLABLES) for value in draft.values.returned(f)]
    if isinstance(e, ast.Attribute):
        given = draft.values.read_by(e)
    computed_with = list[tuple[ast.expr, bool]]()
    for value in given:
        if value in seen:
            continue  # it decides by what is kept of an earlier answer, `best` of `is_better(mean, best)`
        seen.add(value)
        tests = [test for test, _ in draft.syntax.conditions(value)]
        if not all(isinstance(test, ast.If) for test in tests):
            return None
        for n in (value, *(test.test for test in tests if isinstance(test, ast.If))):
            computed_with += leaves(draft, n, False)
    return _measured_of(draft, computed_with, seen) if given else None


def _listed(draft: Draft, e: ast.expr, seen: set[ast.AST]) -> set[Measured] | None:
    """The same of what a list of numbers comes to, `min(losses[-3:])`, `losses[-1]`, by what is put into it: the mean of what
    ranks make of their own lists is another number. None where it is the same, as of `np.mean(losses)`, or anything else."""
    if not isinstance(e, (ast.Call, ast.Subscript)):
        return None
    if draft.names.last(e.func) in _MEANS if isinstance(e, ast.Call) else isinstance(e.slice, ast.Slice):
        return None
    return _put_into(draft, [list_of(draft, held) for held in held_in(e) if differing(draft, held)], seen)


def _put_into(draft: Draft, own: Sequence[Held], seen: set[ast.AST]) -> set[Measured] | None:
    """The same of what some lists hold; None where what they get isn't seen, or can't be averaged there."""
    found = set[Measured]()
    for held in own:
        grows = growing(draft, held)
        put = [c.args[0] for c in grows if draft.names.last(c.func) in _APPENDING and len(c.args) == 1]
        around = [t.test for c in grows for t, _ in draft.syntax.conditions(c) if isinstance(t, ast.If)]
        parts = [measured_in(draft, n, seen, number=n in put) for n in (*put, *around)]
        if not grows or len(put) < len(grows) or any(part is None for part in parts):
            return None
        found.update(*(part for part in parts if part is not None))
    return found if own and all(can_be_averaged(draft, m) for m in found) else None


def _counts(draft: Draft, e: ast.expr) -> bool:
    """Whether an item is counted on somewhere, `state["bad"] += 1`: the mean of ranks' own counts is no number of turns."""
    bound = draft.values.held.item_bindings(e) if isinstance(e, ast.Subscript) else []
    return any(b.kind == "augment" for b in bound)


def _updates(draft: Draft, item: ast.Subscript) -> list[ast.Call]:
    """Where a dictionary gets what may be an item: `state.update(best=mean, bad=0)`."""
    calls = [c for c in draft.sites.method_calls("update") if isinstance(c.func, ast.Attribute)]
    return [c for c in calls if _updates_item(c, item)]


def _updates_item(call: ast.Call, item: ast.Subscript) -> bool:
    named = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == ast.unparse(item.value)
    key = item.slice.value if isinstance(item.slice, ast.Constant) else None
    return named and (bool(call.args) or any(k.arg in (None, key) for k in call.keywords))


def _updated(
    draft: Draft, item: ast.Subscript, updates: list[ast.Call], seen: set[ast.AST]
) -> set[Measured] | None:
    """The same of an item, by what it is set to and what decides that where its dictionary is updated."""
    found = set[Measured]()
    for call in (c for c in updates if c not in seen):
        seen.add(call)
        given = [
            k.value
            for k in call.keywords
            if isinstance(item.slice, ast.Constant) and k.arg == item.slice.value
        ]
        around = [test.test for test, _ in draft.syntax.conditions(call) if isinstance(test, ast.If)]
        parts = [measured_in(draft, e, seen, number=e in given) for e in (*given, *around)]
        if not given or any(part is None for part in parts):
            return None
        found.update(*(part for part in parts if part is not None))
    return found


def _set_by(draft: Draft, name: ast.expr, seen: set[ast.AST], is_number: bool) -> set[Measured] | None:
    """The same of a name or an item, by all that it is set to and what decides that."""
    bound = (
        draft.values.held.item_bindings(name)
        if isinstance(name, ast.Subscript)
        else draft.values.bindings(name)
    )
    updates = _updates(draft, name) if isinstance(name, ast.Subscript) else []
    found = _updated(draft, name, updates, seen) if isinstance(name, ast.Subscript) else set[Measured]()
    if found is None:
        return None
    for b in bound:
        if b.anchor in seen:
            continue
        seen.add(b.anchor)
        if b.kind == "parameter":
            passed = _passed(draft, b, seen, is_number)
            if passed is None:
                return None
            found |= passed
            continue
        if b.kind not in ("assign", "augment") or b.value is None or not isinstance(b.statement, ast.stmt):
            return None
        around = (test.test for test, _ in draft.syntax.conditions(b.statement) if isinstance(test, ast.If))
        for part in (_of_value(draft, b, seen, is_number), *(measured_in(draft, t, seen) for t in around)):
            if part is None:
                return None
            found |= part
    return found if bound or updates else None


def _passed(draft: Draft, parameter: Binding, seen: set[ast.AST], is_number: bool) -> set[Measured] | None:
    """The same of a parameter, by what all calls pass for it: `plateau(total / n)`, `def __call__(self, value):`"""
    given, found = draft.values.passed(parameter), set[Measured]()
    for e in given:
        if isinstance(e, (ast.Name, ast.Attribute)):
            part = measured_in(draft, e, seen, number=is_number)
        elif differing(draft, e):
            part = {e} if is_number and _is_of_rows(draft, e) else None
        else:
            part = set()
        if part is None:
            return None
        found |= part
    return found if given else None


def _assigned(draft: Draft, variable: ast.Name | ast.Attribute, seen: set[ast.AST]) -> set[Measured] | None:
    """The same of a `tf.Variable`, by all that is assigned to it: `best.assign(mean)`; None for what isn't one."""
    text, found = ast.unparse(variable), set[Measured]()
    calls = [
        c
        for c in draft.sites.method_calls("assign", "assign_add", "assign_sub")
        if isinstance(c.func, ast.Attribute) and ast.unparse(c.func.value) == text
    ]
    for call in (c for c in calls if c not in seen):
        seen.add(call)
        value = argument(call, "value", 0) if draft.names.last(call.func) == "assign" else None
        around = [test.test for test, _ in draft.syntax.conditions(call) if isinstance(test, ast.If)]
        parts = [measured_in(draft, e, seen, number=e is value) for e in (value, *around) if e is not None]
        if value is None or any(part is None for part in parts):
            return None
        found.update(*(part for part in parts if part is not None))
    return found if calls else None


def _of_value(draft: Draft, b: Binding, seen: set[ast.AST], is_number: bool) -> set[Measured] | None:
    value = _part(b)
    if not differing(draft, value):
        return set()
    if (picking := picked_numbers.picked_by(draft, b)) is not None:
        return _put_into(draft, picked_numbers.lists_in(draft, picking), seen)
    if b.kind == "augment":
        return None  # a sum over steps: what is made of it may be averaged
    is_made = isinstance(value, (ast.Name, ast.Attribute)) or value not in (
        leaf for leaf, _ in leaves(draft, value, is_number)
    )
    if is_made and (not b.path or value is not b.value):
        behind = measured_in(draft, value, set(seen), number=is_number)
        by_name: tuple[type, ...] = (Binding, Total) if isinstance(value, ast.Name) else (Binding,)
        if behind is not None and all(
            isinstance(m, by_name)
            or (isinstance(m, ast.expr) and not (is_number and draft.syntax.inside(m, value)))
            for m in behind  # what is no part of this number is averaged where it is passed, or read
        ):
            return behind
    elif isinstance(value, ast.Call) and not is_number and not b.path:
        return _answered(draft, value, seen)  # `stop = stopper(mean)`
    is_plain = is_number and isinstance(b.anchor, (ast.Name, ast.Attribute))
    return {b} if is_plain and _is_of_rows(draft, value) else None


def _part(b: Binding) -> ast.expr:
    """What a name is set to: of `best, bad = value, 0` its part."""
    assert b.value is not None
    if len(b.path) == 1 and isinstance(b.value, (ast.Tuple, ast.List)) and 0 <= b.path[0] < len(b.value.elts):
        return b.value.elts[b.path[0]]
    return b.value


def _is_of_rows(draft: Draft, e: ast.expr) -> bool:
    found = differing(draft, e)
    return all(isinstance(r, Varies) and r.kind is Source.ROWS for r in found)


def _total(draft: Draft, name: ast.Name) -> Total | None:
    """What a loop before has added up of a rank's own rows, begun with the same on all ranks; None for anything else."""
    bound = draft.module.scopes.reaching(name)
    sums = [b for b in bound if b.kind == "augment" and isinstance(b.statement, ast.stmt)]
    begun = [_part(b) for b in bound if b.kind == "assign" and b.value is not None]
    if len(sums) + len(begun) < len(bound) or any(differing(draft, e) for e in begun):
        return None
    loops = {_outermost_before(draft, b.statement, name) for b in sums}
    loop = next(iter(loops), None)
    if loop is None or len(loops) > 1 or loop.orelse or not draft.can_put_after(loop):
        return None
    return Total(name.id, loop) if _is_of_rows(draft, name) and _is_read_again(draft, name, loop) else None


def _begins_with_number(draft: Draft, e: ast.expr) -> bool:
    """`wrong = 0` and `wrong += …`: a number, also where a test reads it alone, `if not wrong:`, `if right == len(x):`."""
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    begun = [_part(b) for b in bound if b.kind == "assign" and b.value is not None]
    return (
        len(begun) < len(bound)
        and all(b.kind in ("assign", "augment") for b in bound)
        and all(isinstance(n, ast.Constant) and isinstance(n.value, (int, float)) for n in begun)
    )


def _is_read_again(draft: Draft, name: ast.Name, loop: Loop) -> bool:
    """Whether more than a test reads what a loop has added up: else it is averaged in the test."""
    function = draft.syntax.function(loop)
    return any(
        n.id == name.id and n is not name and isinstance(n.ctx, ast.Load) and position(n) > end(loop)
        for n in draft.syntax.every(ast.Name)
        if draft.syntax.function(n) is function
    )


def _outermost_before(draft: Draft, statement: ast.AST | None, read: ast.Name) -> Loop | None:
    """The outermost of the loops around a statement that are over when something of the same function is read."""
    found: Loop | None = None
    for a in draft.syntax.ancestors(statement) if statement is not None else ():
        if isinstance(a, CALLABLES) or draft.syntax.inside(read, a):
            break
        found = a if isinstance(a, LOOPS) else found
    return found


def place(measured: Measured) -> ast.AST:
    if isinstance(measured, Total):
        return measured.loop
    return measured.statement if isinstance(measured, Binding) else measured


def can_be_averaged(draft: Draft, measured: Measured, test: ast.expr | None = None) -> bool:
    """Whether all ranks come there, and not with each step, unless each is one that one process took, too. test: what they
    decide alike then: `if meter.avg < best: best = meter.avg`"""
    at = place(measured)
    if not can_agree(draft, at, test):
        return False
    if isinstance(measured, Binding) and measured.path:
        statement = measured.statement
        if not isinstance(statement, ast.stmt) or not draft.can_put_after(statement):
            return False
    if over_shares(draft, at) is not None:
        return True
    if _is_with_each_step(draft, at):
        return False
    loops = draft.syntax.loops(at)
    if not any(driver.loop in loops[:1] for driver in feeding(draft).drivers):
        return True
    return any(draft.syntax.inside(test, loops[0]) for test, _ in draft.syntax.conditions(at))


def over_shares(draft: Draft, at: ast.AST) -> Over | None:
    """What the loss of the steps of a loop around a place is over the rows of which each rank has a share: a mean or a sum
    (strong scaling). None where ranks take steps on batches of their own."""
    around, found = set(draft.syntax.loops(at)), set[Over | None]()
    updates = (u.call for u in draft.sites.updates if u.step_of is None)
    for site in (*updates, *(run.call for run in draft.sites.graph.trainings)):
        if not any(around & set(frame.loops) for way in draft.drive.ways(site) for frame in way):
            continue
        match strong.scaling(draft, site):
            case strong.Scaling.STRONG:
                found.add(draft.facts.steps.of(site).over)
            case strong.Scaling.GLOBAL:
                found.add(draft.facts.batches.of(site).over)
            case _:
                found.add(None)
    over = found.pop() if len(found) == 1 else None
    return over if over in (Over.MEAN, Over.SUM) else None


def _is_differentiated(draft: Draft, name: ast.Name) -> bool:
    """Whether gradients of a value are taken under a name, or it is set while a tape looks on."""
    function = draft.syntax.function(name)
    taken = draft.sites.method_calls("gradient", "minimize")
    given = [e for c in taken if draft.syntax.function(c) is function for e in c.args[:1]]
    if any(isinstance(e, ast.Name) and e.id == name.id for e in given):
        return True
    within = [
        a
        for b in draft.module.scopes.reaching(name)
        for a in draft.syntax.ancestors(b.statement)
        if isinstance(a, ast.With) and draft.syntax.function(a) is function
    ]
    tapes = [i.context_expr for w in within for i in w.items]
    return any(isinstance(t, ast.Call) and draft.names.last(t.func) == "GradientTape" for t in tapes)


def _is_with_each_step(draft: Draft, at: ast.AST) -> bool:
    """Whether a function that is not the loop's own runs something with each step."""
    occasions = draft.facts.occasions
    counted = occasions.counted_at(at) if draft.syntax.function(at) is not None else None
    if counted is None or any(draft.syntax.inside(at, driver.loop) for driver in counted[0]):
        return False
    return not occasions.are_seldom(at, counted[0])
