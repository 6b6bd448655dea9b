"""Loops of which it can't be seen how many steps they take: part of G4 and S5.

`while rate > 1e-3: … rate *= 0.98` takes fewer steps by itself once its rate falls as fast for the rows that are seen (C5), and
so does a loop whose count goes on by the steps of all ranks (G6). So it is asked when those rules have run."""

from __future__ import annotations

import ast
from collections.abc import Collection

from horovodize.python.syntax import LOOPS, Loop
from horovodize.rules.drafting.decisions import Unseen
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import DIVIDE_STEPS, WHY

_TOO_MANY = "it can't be seen how many steps this loop takes: as many as before, on size() batches each; divide their number"


def ask(draft: Draft, epochs: Collection[ast.expr] = ()) -> None:
    """Asks about each such loop, unless another rule has changed how what it goes by moves on.

    epochs: numbers of epochs that go on with as many rows as alone: `while step // 500 < 20:`"""
    for loop in draft.having(Unseen):
        unseen = draft.decision(loop, Unseen)
        assert unseen is not None
        assert isinstance(loop, LOOPS)
        end = unseen.end
        if not draft.once("uncounted", loop):
            continue
        by_epochs = isinstance(end, ast.Compare) and end.left in epochs
        if not by_epochs and not _moves_on_faster(draft, loop, end) and not _is_ended(draft, loop, end):
            draft.ask(unseen.rule, end, DIVIDE_STEPS, WHY, _TOO_MANY)


def _moves_on_faster(draft: Draft, loop: Loop, end: ast.expr) -> bool:
    tested = {ast.unparse(n) for n in ast.walk(end) if isinstance(n, (ast.Name, ast.Attribute))}
    moving = [draft.module.span(s) for s in _settings(loop) if _target(s) in tested]
    told = [c.span for c in draft.changes if c.rule in ("C5", "G6") and c.edits]
    return any(m.start <= t.start and t.end <= m.end for m in moving for t in told)


def _is_ended(draft: Draft, loop: Loop, end: ast.expr) -> bool:
    """Whether a loop that goes on until something is said ends by a number of steps that is divided: `while not done:`, with
    `if step >= n: done = True` in each turn."""
    said = {ast.unparse(n) for n in ast.walk(end) if isinstance(n, (ast.Name, ast.Attribute))}
    divided = [c.span for c in draft.changes if c.rule == "G5" and c.edits and c.sure]
    tests = [
        s.test
        for s in loop.body
        if isinstance(s, ast.If) and any(_target(n) in said for n in _settings_in(s.body))
    ]
    return any(
        isinstance(t, ast.Compare)
        and isinstance(t.ops[0], (ast.Gt, ast.GtE, ast.Eq))
        and counted.of(draft, t.left) is not None
        and draft.module.span(t) in divided
        for t in tests
    )


def _settings_in(body: list[ast.stmt]) -> list[ast.Assign | ast.AugAssign]:
    return [s for s in body if isinstance(s, (ast.Assign, ast.AugAssign))]


def _settings(loop: Loop) -> list[ast.Assign | ast.AugAssign]:
    return [n for s in loop.body for n in ast.walk(s) if isinstance(n, (ast.Assign, ast.AugAssign))]


def _target(setting: ast.Assign | ast.AugAssign) -> str:
    return ast.unparse(setting.target if isinstance(setting, ast.AugAssign) else setting.targets[0])
