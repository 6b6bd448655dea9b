"""Numbers of events that come every so many steps: part of G5.

`saver.save(session, "model_%d" % (step // 500))` under `if step % 500 == 0:`: where the event comes every `500 // hvd.size()`
steps of a rank, its number is counted in those, too; else later files would get the names of earlier ones."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from horovodize.facts.counting.counter_kinds import Counter
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.source import Edit
from horovodize.summary.effects import in_place

Count = Callable[[Draft, ast.expr], Counter | None]


def divide(draft: Draft, test: ast.expr, divisor: ast.expr, least: int, count: Count) -> Iterator[Edit]:
    """`step // M` in what is called under `if step % M == 0:`, by the same number as there.

    count: the counter of a rank's steps that an expression gives"""
    for number in under(draft, test, divisor, count):
        yield from counted.over_ranks(draft, number.right, "G5", least)


def under(draft: Draft, test: ast.expr, divisor: ast.expr, count: Count) -> Iterator[ast.BinOp]:
    """The numbers `step // M` in what is called under `if step % M == 0:`."""
    decision = draft.syntax.statement(test)
    if not isinstance(decision, ast.If) or not draft.syntax.inside(test, decision.test):
        return
    called = [n for s in decision.body for n in ast.walk(s) if isinstance(n, ast.Expr)]
    for ratio in (n for s in called for n in ast.walk(s) if isinstance(n, ast.BinOp)):
        is_number = isinstance(ratio.op, ast.FloorDiv) and ast.unparse(ratio.right) == ast.unparse(divisor)
        counts = is_number and count(draft, ratio.left) is not None and counted.is_whole(draft, ratio.right)
        if counts and in_place(draft.module, ratio.right):
            yield ratio
