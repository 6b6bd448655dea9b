"""Numbers that go down with each step until something happens: part of G5.

`left -= 1` and `if left == 0: rate *= 0.1; left = 100`: a rank takes size() times fewer steps, so what the number begins with
is divided: `left = max(1, 100 // hvd.size())`. Where it is read otherwise, or what it begins with isn't seen, that is asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.python.augmented import augmented
from horovodize.python.binding import Binding
from horovodize.python.syntax import LOOPS
from horovodize.rules.counts import crossings, repeated_events, thresholds
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, guarded
from horovodize.rules.numbers.ever_set import ever_set
from horovodize.rules.numbers.shares import feeding
from horovodize.source import Edit

_ASKED = (
    "this goes down with each step of a rank, which takes size() times fewer: let it begin with 1/size() of the number, unless "
    "it is of a rank's own steps"
)


def apply(draft: Draft) -> None:
    for statement in draft.syntax.every(ast.AugAssign, ast.Assign):
        moved = augmented(statement)
        if moved is None or not isinstance(moved.operator, ast.Sub):
            continue
        target, by = moved.target, feeding(draft).kinds.constant(moved.value)
        if isinstance(target, (ast.Name, ast.Attribute)) and by is not None and by > 0:
            if _is_by_step(draft, statement):
                _count_down(draft, statement, target)


def _is_by_step(draft: Draft, statement: ast.stmt) -> bool:
    """Whether a number goes down with each step of divided loops."""
    found = draft.facts.occasions.counted_at(statement)
    if found is None or draft.facts.occasions.are_seldom(statement, found[0]):
        return False
    fits = feeding(draft).fits if found[1] else []
    return (
        bool(found[0] or fits)
        and all(counted.is_divided(draft, d) for d in found[0])
        and all(counted.is_fit_divided(draft, f) for f in fits)
        and not any(draft.syntax.inside(f, d.loop) for d in found[0] for f in _between(draft, statement))
    )


def _between(draft: Draft, statement: ast.stmt) -> Iterator[ast.AST]:
    """The loops within a step's own around a statement: what goes down there goes by something else."""
    drivers = {d.loop for d in feeding(draft).drivers}
    for a in draft.syntax.ancestors(statement):
        if a in drivers:
            return
        if isinstance(a, LOOPS):
            yield a


def _count_down(draft: Draft, statement: ast.stmt, target: ast.Name | ast.Attribute) -> None:
    tests = [t for t in _reads(draft, target) if not draft.syntax.inside(t, statement)]
    ends, own = [t for t in tests if _is_end(draft, t)], ast.unparse(target)
    if not ends:
        return  # it decides nothing, or is no number of steps
    given = [b for b in ever_set(draft, target) if b.statement is not statement]
    begins = [b.value for b in given if b.kind == "assign" and not b.path and b.value is not None]
    if any(guarded.is_round(draft, draft.syntax.parent[t], t, e) for t in ends for e in begins):
        return  # so many updates go with one of another kind
    plain = len(begins) == len(given) and all(_is_plain(draft, b) for b in given)
    if plain and len(ends) == len(tests) and all(counted.is_whole(draft, e) for e in begins):
        edits: list[Edit] = []
        for e in begins:
            if feeding(draft).kinds.constant(e) not in (0, 1):
                edits += counted.over_ranks(draft, e, "G5")
        if edits:
            draft.change("G5", statement, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.DIVIDED)
            for test, every in ((t, feeding(draft).kinds.constant(e)) for t in ends for e in begins):
                if repeated_events.comes_sooner(every) and crossings.goes_on_itself(draft, test, {own}):
                    draft.note("G5", test, repeated_events.SOONER.format(every))
            for loop in (a for t in ends for a in draft.syntax.ancestors(t)):
                if isinstance(loop, ast.While) and any(draft.syntax.inside(t, loop.test) for t in ends):
                    draft.once("uncounted", loop)  # it takes its share of the steps now
    elif any(not counted.is_whole(draft, e) for e in begins):
        return  # it begins with a rank's own
    else:
        draft.ask("G5", statement, thresholds.WHAT, thresholds.WHY, _ASKED)


def _is_plain(draft: Draft, b: Binding) -> bool:
    """`left = 100`, `self.left = self.every`: a number that nothing else is set to."""
    alone = not isinstance(b.statement, ast.Assign) or len(b.statement.targets) == 1
    return alone and isinstance(b.value, (ast.Constant, ast.Name, ast.Attribute))


def _is_end(draft: Draft, read: ast.expr) -> bool:
    """Whether a number is tested for its end: `left == 0`, `left <= 0`, `not left`, `while left:`."""
    parent = draft.syntax.parent[read]
    if isinstance(parent, ast.Compare) and parent.left is read and len(parent.ops) == 1:
        return feeding(draft).kinds.constant(parent.comparators[0]) in (0, 1)
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    return isinstance(parent, (ast.If, ast.While, ast.IfExp)) and parent.test is read


def _reads(draft: Draft, target: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
    """Where a number is read."""
    mine = {b.anchor for b in ever_set(draft, target)}
    for n in draft.syntax.every(type(target)):
        if isinstance(n.ctx, ast.Load) and ast.unparse(n) == ast.unparse(target):
            if mine & {b.anchor for b in ever_set(draft, n)}:
                yield n


__all__ = ["apply"]
