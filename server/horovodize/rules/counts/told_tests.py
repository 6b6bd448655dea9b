"""Tests of what is computed from a count of steps: part of G5.

`done = step / total` and `if done > 0.5:` comes when as many rows have been seen, if the count is told the steps of all ranks:
`done = step * hvd.size() / total`. Where something else is asked than whether it is more or less, that is asked: such a count
may step over a number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.counts import thresholds
from horovodize.rules.counts.unseen_counts import only_shows
from horovodize.rules.drafting.decisions import Asked, Decided, OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, decays
from horovodize.rules.numbers.shares import counts_a_share
from horovodize.rules.sums import own_means
from horovodize.source.nodes import walk

_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OF_NUMBERS = {
    "min",
    "max",
    "minimum",
    "maximum",
    "int",
    "float",
    "round",
    "floor",
    "ceil",
    "abs",
    "divmod",
    "sqrt",
    "isqrt",
    "cbrt",
    "log",
    "log2",
    "log10",
}
_DEPTH = 6  # names and functions that are followed, one from another
_ASKED = (
    "a rank takes size() times fewer steps, and this test goes by a number that is made of them: let it be made of those of "
    "all ranks, `{} * hvd.size()`, unless it is of a rank's own steps"
)


def tell(draft: Draft, test: ast.expr) -> bool:
    """Lets what a test compares as more or less go by the steps of all ranks, where it is computed from a rank's; whether that
    is so."""
    if not isinstance(test, ast.Compare) or not all(isinstance(op, _ORDER) for op in test.ops):
        return False
    reads = _computed_from(draft, test)
    fixed = [side for side in _sides(test) if not _is_drawn(draft, side)]
    named = [side for side in fixed if isinstance(side, (ast.Name, ast.Attribute))]
    if len(fixed) < len(_sides(test)):
        named = []  # chances, which `annealing` follows
    named = [side for side in named if decays.may_go_on(draft, side)]
    if not (reads or named) or any(draft.uniform.of_values.varies(side) for side in fixed):
        return False
    if named and not only_shows(draft, test):  # `heat *= 0.995`, `if heat < 0.1:`
        for side in named:
            if (
                not draft.was(side, OfAll) and counted.of(draft, side) is None
            ):  # a count is told where it is read
                decays.follow(draft, side, rule="G5")
    for read in reads:
        edits = counted.read_as_all(draft, read, "G5")
        draft.change("G5", read, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.COUNTED)
    return bool(reads)


def ask(draft: Draft, test: ast.expr) -> None:
    """Asks about a test of such a number that isn't told; or that is, and may step over what it is to equal."""
    reads = _computed_from(draft, test)
    is_order = isinstance(test, ast.Compare) and all(isinstance(op, _ORDER) for op in test.ops)
    if not reads and not is_order and not any(draft.was(n, Decided) for n in walk(test)):
        reads = _computed_from(draft, test, told=True)
    if reads and draft.decide(test, Asked("G5")):
        draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _ASKED.format(draft.module.text(reads[0])))


def _sides(test: ast.expr) -> list[ast.expr]:
    """The numbers that a test is about; of a method that says yes or no of one, `np.sqrt(step).is_integer()`, that number."""
    match test:
        case ast.Compare():
            return [test.left, *test.comparators]
        case ast.Call(func=ast.Attribute(value=number), args=[], keywords=[]):
            return [number]
    return []


def _is_drawn(draft: Draft, side: ast.expr) -> bool:
    """`tf.random.uniform(shape) < keep`: how much is kept of what goes through goes by the other side."""
    return isinstance(side, ast.Call) and draft.uniform.draws.draws(side)


def _computed_from(draft: Draft, test: ast.expr, told: bool = False) -> list[ast.expr]:
    """Where a rank's steps are read from which what a test compares is computed; nothing where only what is printed hangs on
    it. told: those that give the steps of all ranks by now"""
    sides = _sides(test) if draft.facts.counters.exist else []
    reads = [*dict.fromkeys(read for side in sides for read in _reads(draft, side, _DEPTH, told))]
    if not reads or only_shows(draft, test) or any(counts_a_share(draft, side) for side in sides):
        return []
    return [read for read in reads if not own_means.divides(draft, read)]


def _reads(draft: Draft, e: ast.expr, depth: int, told: bool) -> Iterator[ast.expr]:
    """Where a number reads a rank's steps that it is computed from, by names and functions that give it. Not of a name that is
    one count itself, nor of a rank's own rows."""
    if not depth or (isinstance(e, ast.Name) and draft.facts.dealt.is_own(e)):
        return
    match e:
        case ast.BinOp():
            parts: list[ast.expr] = [e.left, e.right]
        case ast.UnaryOp(operand=operand):
            parts = [operand]
        case ast.Call() if isinstance(callee := draft.values.callee(e), FUNCTIONS):
            parts = draft.values.returned(callee)
        case ast.Call() if draft.names.last(e.func) in _OF_NUMBERS:
            parts = e.args
        case ast.Name() | ast.Attribute():
            parts = list(_given(draft, e))
        case _:
            return
    for part in parts:
        if draft.was(part, OfAll) if told else counted.of(draft, part) is not None:
            if not isinstance(e, (ast.Name, ast.Attribute)):  # else it is a count by another name
                yield part
        elif told or not draft.was(part, OfAll):  # else the function that gives it counts a rank's, as before
            yield from _reads(draft, part, depth - 1, told)


def _given(draft: Draft, e: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
    """What a name is always set to, in one place; what a parameter is passed."""
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else draft.values.attribute_bindings(e)
    if len(bound) == 1 and bound[0].kind == "assign" and bound[0].value is not None:
        part = draft.facts.counters.fetched.part(bound[0].value, bound[0].path)
        if part is not None:
            yield part
        elif bound[0].path:  # of several that a function gives: `loss, step = train_step(x)`
            yield from (
                o.node for o in draft.values.origins(e) if isinstance(o.node, ast.expr) and not o.path
            )
    elif len(bound) == 1 and bound[0].kind == "parameter":
        yield from draft.values.passed(bound[0])
    elif not bound and isinstance(e, ast.Attribute):
        yield from draft.values.read_by(e)


__all__ = ["ask", "tell"]
