"""The event of the last turn of a loop, whose number of turns is written as one more than a multiple of its period: part of G4.

    num_steps = 10001
    for step in range(num_steps):
        if step % 2000 == 0:
            save(model)

On two ranks 10001 // 2 turns end at 4999, and the last of the events, at 5000 then, would not come: the share is one of the
turns before the last, and the last stays one more, as that of `range(n + 1)` does."""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import shares
from horovodize.source import Edit
from horovodize.summary.feeding import Driver

_MANY = 500  # turns: of so many, one more on each rank is no other budget


def divide(draft: Draft, driver: Driver, count: ast.expr, rule: str) -> bool:
    """`range(10001)` → `range(10000 // hvd.size() + 1)`, where something happens in the last of these turns. Whether the number
    is such a one, and divided."""
    known = number_of(draft, driver, count)
    if known is None or draft.options.keeps_batch:
        return False
    if not draft.decide(count, Divided(rule)):
        return True
    made = shares.where_made(draft, count)
    draft.decide(made, Divided(rule))
    if draft.was(made, Divided):
        draft.divided = True
        before = str(known - 1) if isinstance(made, ast.Constant) else f"({draft.module.text(made)} - 1)"
        edits = [Edit(draft.module.span(made), f"{before} // {SIZE} + 1")]
        draft.change(rule, made, shares.DIVIDE_STEPS, shares.WHY, edits, decision=Decision.DIVIDED)
    return True


def number_of(draft: Draft, driver: Driver, count: ast.expr) -> int | None:
    """How many turns a loop over `range(count)` has, where that is written out, and something happens in the last that comes
    every so many turns, from the first on."""
    made = [o.node for o in draft.values.origins(count)]
    if not isinstance(count, (ast.Name, ast.Constant)) or not all(isinstance(e, ast.Constant) for e in made):
        return None
    turn = driver.loop.target if isinstance(driver.loop, (ast.For, ast.AsyncFor)) else None
    known = shares.feeding(draft).kinds.constant(count)
    if known is None or known <= _MANY or known % 10 != 1 or not isinstance(turn, ast.Name):
        return None  # of 1000 turns, the last may be such a one by chance
    events = (n for s in driver.loop.body for n in ast.walk(s) if isinstance(n, ast.BinOp))
    return known if any(_comes_last(draft, n, turn.id, known - 1) for n in events) else None


def _comes_last(draft: Draft, modulo: ast.BinOp, turn: str, last: int) -> bool:
    """Whether `step % 2000` is asked to be 0, and is in the last turn."""
    if not isinstance(modulo.op, ast.Mod) or not isinstance(modulo.left, ast.Name) or modulo.left.id != turn:
        return False
    every = shares.feeding(draft).kinds.constant(modulo.right)
    if every is None or not 1 < every <= last or last % every:
        return False
    match draft.syntax.parent[modulo]:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.If(test=test):
            return test is modulo
    return False


__all__ = ["divide", "number_of"]
