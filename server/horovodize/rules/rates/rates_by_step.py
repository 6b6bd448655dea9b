"""Rates that a program computes from the number of a batch or step that it counts itself: part of C5.

With the data split each rank takes size() times fewer steps, so the formula is told the steps of all ranks together:
`0.1 * 0.99 ** step` → `0.1 * 0.99 ** (step * hvd.size())`. After as many rows the rate is what it was (times the factor). Of an
iterator that gives rates (`next(cycle)`), each step takes as many as all ranks' steps would.
Where the count can't be followed it is asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import ITERATIONS
from horovodize.facts.counting.variable_additions import within
from horovodize.plan import Decision
from horovodize.python.augmented import added
from horovodize.rules.counts import handed_functions, tables_by_step
from horovodize.rules.drafting.decisions import OfAll, Strided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import (
    bias_corrections,
    counted,
    decays,
    handed_numbers,
    named_tests,
    with_each_step,
)
from horovodize.rules.numbers.number_settings import Setting
from horovodize.rules.numbers.rate_reads import places, reads
from horovodize.rules.numbers.shares import counts_a_share, feeding
from horovodize.rules.rates import assigned_values, last_batches, measured
from horovodize.rules.sums import own_means, shared_sums
from horovodize.source import Edit
from horovodize.summary.feeding import Driver

_SAID = (
    "this rate goes by a count of steps of one process; with the data split, each rank takes size() times fewer: check that it "
    "changes as fast for the rows that are seen"
)
_BEYOND = (
    "where batches don't divide among the ranks, a rank's epoch has one more than its share, and this count goes beyond the "
    "last step that the rate is made for; let `min` or `max` keep the rate at its end"
)
_WHAT = "Tell the rate the steps of all ranks together"
_WHY = "Each rank takes size() times fewer steps; the rate goes by how much has been seen."
_BOUNDS = {"min", "max", "minimum", "maximum", "clip", "clip_by_value"}
_LIMIT = 400


def follow(draft: Draft, setting: ast.AST, rate: ast.expr, own: Setting | None = None) -> None:
    """Lets a rate that is set somewhere go by the steps of all ranks, if it goes by a count of steps, or on from itself.

    own: that an optimizer's rate is set there, or a variable's"""
    if draft.options.split_data and draft.divided and counts_a_share(draft, rate):
        measured.tell(draft, rate, _WHAT, _WHY)
        return
    if _tell_counts(draft, rate, _by_batches(draft, setting)) or decays.follow(draft, rate, own):
        return
    if not (draft.options.split_data and draft.divided):
        return
    of_all = list(places(draft, rate, lambda n: counted.all_of(draft, n) is not None))
    if of_all:  # it goes by what all ranks have counted together
        if last_batches.may_be_more(draft, of_all[0]) and _may_go_beyond(draft, of_all[0], False):
            draft.note("C5", of_all[0], _BEYOND)
        return
    made_of = draft.values.depends([rate], _LIMIT)
    if any(draft.was(n, OfAll) or shared_sums.is_of_all(draft, n) for n in made_of):
        return
    if any(True for _ in places(draft, rate, lambda n: _may_count(draft, n))):
        if draft.once("asked rate", rate):
            draft.ask("C5", rate, _WHAT, _WHY, _SAID)
        return
    if _by_batches(draft, setting) and _is_at_counted(draft, setting):
        return  # G5 divides the numbers of these steps, or asks
    if _by_batches(draft, setting) or any(
        _by_turns(draft, driver, setting, rate) for driver in feeding(draft).drivers
    ):
        if draft.once("asked rate", rate):
            draft.ask("C5", rate, _WHAT, _WHY, _SAID)


def _may_count(draft: Draft, e: ast.expr) -> bool:
    """Whether something may be a count of a rank's steps, as far as can be seen."""
    return counted.perhaps(draft, e) or handed_functions.may_number_a_step(draft, e)


def _tell_counts(draft: Draft, rate: ast.expr, of_batches: bool) -> bool:
    """Tells the counts in a formula the steps of all ranks; whether there are some. `of_batches`: it is asked with each batch
    of a `fit`, whose epochs are rounded up on each rank."""
    if not (draft.options.split_data and draft.divided):
        return False
    found = False
    for read in reads(draft, rate):
        if bias_corrections.corrects(draft, read):
            found = True  # it counts as each rank does
            continue
        if own_means.divides(draft, read):
            found = True  # an average of what a rank has added up
            continue
        if _is_compared(draft, read):
            found = True  # G5 divides what it is to equal, or asks
            continue
        if counted.is_over_a_share(draft, read):
            found = True  # an epoch is computed there: a rank's steps over those that it takes in one
            continue
        if handed_numbers.is_told_inside(draft, read):
            found = True  # an epoch is computed in there, say: what else is comes after this
            continue
        table = _table(draft, read)
        if table is not None and tables_by_step.can_divide(draft, table):
            found = True  # G5 divides the numbers there
            continue
        # else it is given what was told already
        if counted.of(draft, read) is not None and not _is_key(draft, read):
            draft.change(
                "C5", read, _WHAT, _WHY, counted.read_as_all(draft, read, "C5"), decision=Decision.COUNTED
            )
            _tell_ends(draft, read, table)
            found = True
            if (of_batches or last_batches.may_be_more(draft, read)) and _may_go_beyond(
                draft, read, of_batches
            ):
                draft.note("C5", read, _BEYOND)
    for call in drawn(draft, rate):
        if with_each_step.is_by_step(draft, call):
            draft.decide(call, OfAll("C5"))
            edits = Edit.around(draft.module.span(call), "[", f" for _ in range({SIZE})][0]", level=1)
            draft.change("C5", call, _WHAT, _WHY, edits, decision=Decision.COUNTED)
            found = True
    return found


def _tell_ends(draft: Draft, read: ast.expr, table: ast.expr | None) -> None:
    """Tells the tests of whether a table has a place for a count, `if step >= len(rates):`, what the place is told."""
    if table is None:
        return
    length = f"len({ast.unparse(table)})"
    for test in draft.syntax.every(ast.Compare):
        sides = [test.left, *test.comparators]
        if draft.syntax.function(test) is not draft.syntax.function(read) or length not in map(
            ast.unparse, sides
        ):
            continue
        for count in (e for side in sides for e in reads(draft, side)):
            edits = counted.read_as_all(draft, count, "C5")
            draft.change("C5", count, _WHAT, _WHY, edits, decision=Decision.COUNTED)


def _may_go_beyond(draft: Draft, read: ast.expr, of_batches: bool) -> bool:
    """Whether a formula gives something else after its last step than at it: a line that goes on below zero, a cosine that
    rises again (of which a few steps make no odds: asked `of_batches` only). Powers and quotients go on as they did, and what
    is kept within bounds stays there."""
    around = [a for a in draft.syntax.ancestors(read) if isinstance(a, ast.expr)]
    called = {draft.names.last(a.func) for a in around if isinstance(a, ast.Call)}
    is_line = any(isinstance(a, ast.BinOp) and isinstance(a.op, ast.Sub) for a in around)
    for a in around:
        if isinstance(a, ast.BinOp) and (isinstance(a.op, ast.Mod) or _is_exponent(draft, read, a)):
            return False
    return (is_line if not of_batches else is_line or "cos" in called) and not called & _BOUNDS


def _is_exponent(draft: Draft, read: ast.expr, around: ast.BinOp) -> bool:
    return isinstance(around.op, ast.Pow) and draft.syntax.inside(read, around.right)


def drawn(draft: Draft, rate: ast.expr) -> Iterator[ast.Call]:
    """The calls of `next` that give a rate, as it is or by arithmetic: `0.1 * next(cycle)`. Not what losses are made from."""
    todo: list[ast.AST] = [rate]
    seen = set[ast.AST]()
    while todo:
        n = todo.pop()
        if n in seen or draft.was(n, OfAll):
            continue
        seen.add(n)
        match n:
            case ast.Call(func=ast.Name(id="next"), args=[_, *_]):
                yield n
            case ast.Call():
                inner = within(draft.names.last(n.func), n)
                todo += [inner] if inner is not None else []
            case ast.BinOp() | ast.UnaryOp() | ast.IfExp():
                todo += ast.iter_child_nodes(n)
            case ast.Name() | ast.Attribute():
                todo += _given(draft, n)


def _given(draft: Draft, n: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
    """What a name gets as a whole: what it is set to, or passed."""
    is_name = isinstance(n, ast.Name)
    for b in draft.module.scopes.reaching(n) if is_name else draft.values.attribute_bindings(n):  # type: ignore[arg-type]
        if b.kind == "parameter":
            yield from draft.values.passed(b)
        elif b.kind == "assign" and not b.path and b.value is not None:
            yield b.value


def _is_key(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is looked up in a table, `rates[step]`, `rates.get(step, rate)` of `rates = {0: 0.1, 500: 0.01}`.
    The steps of all ranks may step over them."""
    table = _table(draft, read)
    return table is not None and tables_by_step.is_table(draft, table)


def _table(draft: Draft, read: ast.expr) -> ast.expr | None:
    """What a count is looked up in."""
    e, item = _shifted(draft, read)
    match item:
        case ast.Subscript(value=table, slice=key) if key is e:
            return table
        case ast.Call(func=ast.Attribute(value=table), args=[key, *_]) if key is e:
            return table
    return None


def _is_compared(draft: Draft, read: ast.expr) -> bool:
    """Whether a count, or what is left of its division, is to equal a number, `0.01 if step == 500 else rate`. The steps of all
    ranks may step over it, too."""
    e, test = _shifted(draft, read)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod) and test.left is e:
        test = draft.syntax.parent[test]
    exact = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
    return isinstance(test, ast.Compare) and any(isinstance(op, exact) for op in test.ops)


def _shifted(draft: Draft, read: ast.expr) -> tuple[ast.expr, ast.AST]:
    """`step + 1`, with what it is a part of."""
    e, around = read, draft.syntax.parent[read]
    while isinstance(around, ast.BinOp) and isinstance(around.op, (ast.Add, ast.Sub)):
        e, around = around, draft.syntax.parent[around]
    return e, around


def follow_fed(draft: Draft, rate: ast.expr) -> None:
    """The same for what sessions feed a rate that is a placeholder: `feed_dict={rate: 0.1 * 0.99 ** step}`; and for what they
    set one to that is a variable: `sess.run(tf.assign(rate, 0.1 * 0.99 ** step))`, also by a placeholder."""
    for value in fed(draft, rate):
        follow(draft, value, value)
    for given in assigned_values.of(draft, rate):
        for value in (given, *fed(draft, given)):
            follow(draft, value, value)


def fed(draft: Draft, rate: ast.expr, *, directly: bool = False) -> Iterator[ast.expr]:
    """What sessions feed a rate; `directly`: only where it is what they feed itself, not one that is made of it."""
    made = draft.values.calls(rate) if directly else draft.values.depends([rate], _LIMIT)
    yield from draft.facts.counters.fetched.fed(made)


def _by_batches(draft: Draft, setting: ast.AST) -> bool:
    """Whether a callback sets a rate with every batch."""
    hook = draft.facts.hooks.around(setting)
    return hook is not None and hook.is_of_batches


def _is_at_counted(draft: Draft, setting: ast.AST) -> bool:
    """Whether a rate is set at certain steps of a count only: `if self.steps == 500: optimizer.learning_rate = 0.001`."""
    return any(
        _is_at_numbers(draft, named_tests.behind(draft, test.test), arm == "body")
        for test, arm in draft.syntax.conditions(setting)
    )


def _is_at_numbers(draft: Draft, test: ast.AST, holds: bool) -> bool:
    """Whether a count, or what is left of its division, is compared with one number, or with some that can be seen; `holds`:
    whether the test has to hold."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return _is_at_numbers(draft, test.operand, not holds)
        case ast.BinOp(op=ast.Mod()) if not holds:
            return _is_count(draft, test)
        case ast.BoolOp(op=ast.And()) if holds:
            return any(_is_at_numbers(draft, part, holds) for part in test.values)
        case ast.Compare(ops=[op], comparators=[number]) if isinstance(op, ast.Eq if holds else ast.NotEq):
            return _is_count(draft, test.left) or _is_count(draft, number)
        case ast.Compare(ops=[op], comparators=[ast.Tuple() | ast.List() | ast.Set()]):
            return isinstance(op, ast.In if holds else ast.NotIn) and _is_count(draft, test.left)
    return False


def _is_count(draft: Draft, e: ast.expr) -> bool:
    divided = e.left if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mod) else e
    return counted.of(draft, divided) is not None


def _by_turns(draft: Draft, driver: Driver, setting: ast.AST, rate: ast.expr) -> bool:
    """Whether a rate that is set in a loop over batches is made from the number of its turn, or from another counter."""
    loop = driver.loop
    if draft.was(loop, Strided) or not draft.syntax.inside(setting, loop):
        return False  # its number counts the steps of all ranks
    names = {
        counted.target.id
        for s in loop.body
        for n in ast.walk(s)
        if (counted := added(n)) is not None
        and isinstance(counted.target, ast.Name)
        and not draft.was(n, Strided)
    }
    if not isinstance(loop, ast.While):
        names |= {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    return any(
        (
            isinstance(n, ast.Name)
            and n.id in names
            and draft.syntax.function(n) is draft.syntax.function(loop)
        )
        or (isinstance(n, ast.Attribute) and n.attr in ITERATIONS)
        for n in draft.values.depends([rate], 400)
    )
