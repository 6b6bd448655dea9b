"""Where a run goes on within an epoch, by what a graph or an optimizer has counted: part of G6.

    step = sess.run(global_step)
    first, begin = step // batches, step % batches        # divmod(step, batches), step - first * batches
    for epoch in range(first, 10):
        for i in range(begin, batches):

TensorFlow counts a rank's steps, of which an epoch has fewer: what is left of it is a number of a rank's steps if it is divided
by as many as a rank takes there. A loop by size()-th numbers, `range(begin * hvd.size(), batches, hvd.size())`, takes one for
each that it begins (`(batches - 1) // hvd.size() + 1`), one whose turns are counted takes what all ranks get equally many of.
Where the number is used otherwise, it is asked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.variable_additions import unconverted
from horovodize.plan import Decision
from horovodize.rules.counts import unseen_counts
from horovodize.rules.drafting.decisions import Amount, Divided, Strided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted
from horovodize.rules.resuming import restored_iterations
from horovodize.source import Edit

_WHAT = "Find the place in the epoch by the steps that a rank takes in one"
_WHY = "A rank takes size() times fewer steps an epoch; by as many it goes on at the batch where it stopped."
_WHAT_ALL = "Count the steps that all ranks together have taken"
_WHY_ALL = "A step takes size() batches: so many more rows have been seen."
_ASKED = (
    "this is how many steps an epoch has had, by a count of a rank's steps: divide by the steps that a rank takes in one, "
    "`{} // hvd.size()`, and multiply by `hvd.size()` where rows are selected by it"
)
_OF_A_RANK = (CounterKind.ITERATIONS, CounterKind.GLOBAL_STEP)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SEEDED = ("seed", "set_seed", "set_random_seed", "default_rng", "RandomState", "Random")
_WHOLE = ("int", "floor", "trunc")


@dataclass(frozen=True)
class _Rest:
    """What is left of a count of steps that is divided by those of an epoch.

    whole    the expression that gives it; of `divmod` the call
    count    what is divided
    turns    by what"""

    whole: ast.expr
    count: ast.expr
    turns: ast.expr


def divide(draft: Draft) -> None:
    """Finds the place in an epoch by a rank's steps, where a number before the loops gives it."""
    for rest in _rests(draft) if draft.facts.counters.exist else ():
        counter = counted.of(draft, rest.count)
        if counter is None or not _is_of_a_rank(draft, counter) or not counted.is_whole(draft, rest.turns):
            continue
        around = {*draft.syntax.ancestors(rest.whole)}
        if any(d.loop in around and not _is_head(draft, rest.whole, d.loop) for d in counter.drivers):
            continue  # it tells when something comes
        uses = list(_uses(draft, rest))
        kinds = {_kind(draft, use, rest.turns) for use in uses} - {"shown", "event"}
        if not kinds:
            continue
        if len(kinds) > 1 or "other" in kinds:
            if restored_iterations.goes_on(draft) or draft.facts.kept.restored:
                draft.ask("G6", rest.whole, _WHAT, _WHY, _ASKED.format(draft.module.text(rest.turns)))
            continue
        strided = kinds == {"strided"}
        _divide(draft, rest.turns, strided=strided)
        for turns in _epochs(draft, counter, rest):
            _divide(draft, turns, strided=strided)
        restored_iterations.tell(draft, "G6", rest.whole, rest.count)


def begins(draft: Draft, start: ast.expr, turns: ast.expr) -> bool:
    """Whether the number that a loop of so many turns begins with counts a rank's steps: all of them, or those in an epoch
    that are found so."""
    for o in draft.values.origins(start):
        node = unconverted(o.node) if isinstance(o.node, ast.expr) else None
        if node is not None and not o.path and _is_count(draft, node):
            continue
        rest = _rest(node) if node is not None else None
        if rest is None or o.path not in ((), (1,)) or not _is_same(draft, rest.turns, turns):
            return False
    return True


def _is_count(draft: Draft, e: ast.expr) -> bool:
    """Whether a number is a count of steps, or one near it: `step + 1`, `max(0, step - 5)`."""
    match e:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant()):
            return _is_count(draft, left)
        case ast.Call(func=ast.Name(id="max" | "min" | "int"), args=given):
            return all(_is_count(draft, g) for g in given)
        case ast.Constant():
            return True
    return draft.facts.counters.of(e) is not None


def read_rest_as_all(draft: Draft, count: ast.expr, of_a_rank: Callable[[ast.expr], bool], rule: str) -> None:
    """`todo = 1000 - step` → `1000 - step * hvd.size()` of a loop whose numbers select rows and are dealt out: so many of the
    steps of all ranks are left. of_a_rank: whether a number counts those of a rank"""
    made = [o.node for o in draft.values.origins(count)]
    match made:
        case [ast.BinOp(op=ast.Sub(), right=step)] if of_a_rank(step) and draft.once("rest", step):
            edits = counted.read_as_all(draft, step, rule)
            draft.change(rule, step, _WHAT_ALL, _WHY_ALL, edits, decision=Decision.COUNTED)
            draft.note(rule, step, restored_iterations.STORED)


def of_a_loop_by_strides(draft: Draft, counter: Counter, turns: ast.expr) -> bool:
    """Whether a count goes on with the turns of a loop that takes every size()-th of so many."""
    ends = [
        d.iterable.args[1]
        for d in counter.drivers
        if draft.was(d.loop, Strided) and isinstance(d.iterable, ast.Call) and len(d.iterable.args) == 2
    ]
    return bool(ends) and len(ends) == len(counter.drivers) and all(_is_same(draft, e, turns) for e in ends)


def over_strides(draft: Draft, turns: ast.expr) -> tuple[Edit, ...]:
    """`batches` → `((batches - 1) // hvd.size() + 1)`: how many of every size()-th of them a rank takes."""
    if not draft.decide(turns, Divided("G6")):
        return ()
    span = draft.module.span(turns)
    if isinstance(turns, ast.Constant) and isinstance(turns.value, int):
        return (Edit(span, f"({turns.value - 1} // {SIZE} + 1)"),)
    return Edit.around(span, "((", f" - 1) // {SIZE} + 1)")


# ---------------------------------------------------------------------- what is left of an epoch


def _rests(draft: Draft) -> Iterator[_Rest]:
    for e in [*draft.syntax.every(ast.BinOp), *draft.syntax.calls]:
        rest = _rest(e)
        if rest is not None:
            yield rest


def _rest(e: ast.expr) -> _Rest | None:
    """Of `step % n`, `divmod(step, n)`, `step - step // n * n`, `step - epoch * n`."""
    match e:
        case ast.BinOp(left=count, op=ast.Mod(), right=turns) if not isinstance(
            count, (ast.Constant, ast.JoinedStr)
        ):
            return _Rest(e, count, turns)
        case ast.Call(func=ast.Name(id="divmod"), args=[count, turns], keywords=[]):
            return _Rest(e, count, turns)
        case ast.BinOp(left=count, op=ast.Sub(), right=ast.BinOp(op=ast.Mult(), right=turns)):
            return _Rest(e, count, turns)
    return None


def _is_of_a_rank(draft: Draft, counter: Counter) -> bool:
    """Whether TensorFlow counts it, or gave it what it begins with."""
    begun = (c for c, _ in draft.facts.counters.listed.begun_by_others)
    return counter.kind in _OF_A_RANK or any(counter is c for c in begun)


def _is_head(draft: Draft, e: ast.AST, loop: ast.AST) -> bool:
    """Whether an expression stands in the head of a loop, which is read before its turns."""
    return isinstance(loop, (ast.For, ast.AsyncFor)) and draft.syntax.inside(e, loop.iter)


def _uses(draft: Draft, rest: _Rest) -> Iterator[ast.expr]:
    """Where a rest is read: in place, or by a name that is set to it."""
    e, around = rest.whole, draft.syntax.parent.get(rest.whole)
    while isinstance(around, ast.Call) and draft.names.last(around.func) in _WHOLE:
        e, around = around, draft.syntax.parent.get(around)
    if not isinstance(around, (ast.Assign, ast.AnnAssign)):
        yield e
        return
    targets = around.targets if isinstance(around, ast.Assign) else [around.target]
    for target in targets:
        in_pair = isinstance(rest.whole, ast.Call) and isinstance(target, ast.Tuple) and len(target.elts) == 2
        yield from _reads(
            draft, target.elts[1] if in_pair and isinstance(target, ast.Tuple) else target, around
        )


def _reads(draft: Draft, target: ast.expr, statement: ast.stmt) -> Iterator[ast.expr]:
    name = (
        target.id
        if isinstance(target, ast.Name)
        else target.attr
        if isinstance(target, ast.Attribute)
        else ""
    )
    for read in draft.module.loads.get(name) if name else ():
        same = isinstance(read, ast.Name) == isinstance(target, ast.Name)
        if same and any(b.statement is statement for b in draft.values.bindings(read)):
            yield read


def _kind(draft: Draft, use: ast.expr, turns: ast.expr) -> str:
    """How a rest is used: where a loop over every size()-th number begins, compared with the number of a turn, as a test of
    whether something comes (of which `events` decides), or to show."""
    around = draft.syntax.parent.get(use)
    if isinstance(around, ast.Call) and draft.names.last(around.func) in _SEEDED:
        return "shown"  # another rank's is another rule's to see to (D3)
    if isinstance(around, ast.Call) and len(around.args) >= 2 and around.args[0] is use:
        driven = any(d.iterable is around and draft.was(d.loop, Strided) for d in draft.facts.feeding.drivers)
        return "strided" if driven and _is_same(draft, around.args[1], turns) else "other"
    if isinstance(around, ast.Compare) and len(around.ops) == 1 and isinstance(around.ops[0], _ORDER):
        other = around.left if use is not around.left else around.comparators[0]
        turn = counted.of(draft, other)
        is_turn = turn is not None and turn.kind is CounterKind.TURN
        return "turn" if is_turn and not draft.was(around, Amount) else "other"
    if isinstance(around, (ast.Compare, ast.UnaryOp)) or (isinstance(around, ast.If) and around.test is use):
        return "event"
    return "shown" if unseen_counts.is_shown(draft, use) else "other"


def _epochs(draft: Draft, counter: Counter, rest: _Rest) -> Iterator[ast.expr]:
    """The numbers by which the same count is divided for the number of the epoch, `step // n`, and multiplied again."""
    for e in draft.syntax.every(ast.BinOp):
        around = draft.syntax.parent.get(e)
        rounded = isinstance(around, ast.Call) and draft.names.last(around.func) in _WHOLE
        if not isinstance(e.op, ast.FloorDiv) and not (isinstance(e.op, ast.Div) and rounded):
            continue
        if counted.of(draft, e.left) is counter and _is_same(draft, e.right, rest.turns):
            if counted.is_whole(draft, e.right):
                yield e.right


def _is_same(draft: Draft, one: ast.expr, other: ast.expr) -> bool:
    """Whether two numbers are written alike, or by the same value."""
    if ast.unparse(one) == ast.unparse(other):
        return True
    nodes = [{o.node for o in draft.values.origins(e)} for e in (one, other)]
    return bool(nodes[0]) and nodes[0] == nodes[1]


def _divide(draft: Draft, turns: ast.expr, *, strided: bool) -> None:
    edits = over_strides(draft, turns) if strided else counted.over_ranks(draft, turns, "G6")
    if edits:
        draft.change("G6", turns, _WHAT, _WHY, edits, decision=Decision.DIVIDED)


__all__ = ["begins", "divide", "of_a_loop_by_strides", "over_strides"]
