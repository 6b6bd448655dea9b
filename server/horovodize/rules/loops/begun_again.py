"""Cursors that begin again within their loop, part of G4 and S5: `if i + 32 > len(x): i = 0`.

All ranks keep the same cursor, which begins again in the same turn on all of them: as soon as there is no batch left for the
last rank. What else is done there (rows that are shuffled again, a count of the epochs) is done by all ranks at the same time,
and as often for the rows that are seen:

`if i + 32 > len(x): i = 0`  → `if i * ranks + (ranks - 1) * 32 + 32 > len(x): i = 0`
`if i == len(x): i = 0`      → `if i * ranks + (ranks - 1) * 32 >= len(x): i = 0`, which may step over that number

Where the cursor moves on only if it doesn't begin again, the test is of where it is before that:

`if i + 64 > len(x): i = 0`, `else: i += 32`  → `if i * ranks + 2 * (ranks - 1) * 32 + 64 > len(x): i = 0`

Of fewer batches than ranks, some ranks take the same.
"""

from __future__ import annotations

import ast

from horovodize.facts.counting.cursors import Cursor
from horovodize.plan import Decision
from horovodize.python.syntax import Loop, is_one, position
from horovodize.rules.counts import strides
from horovodize.rules.drafting.decisions import Counted
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.loops import cursor_places
from horovodize.rules.numbers.shares import PLENTY, WHY, feeding
from horovodize.source import Edit
from horovodize.summary.effects import in_place

_WHAT = "Let all ranks begin again together"


def can_divide(draft: Draft, cursor: Cursor) -> bool:
    """Whether a cursor doesn't begin again, or does so where ranks can do it together."""
    again = cursor.restart
    return again is None or (draft.can_insert(again.statement) and in_place(draft.module, again.read))


def beside(draft: Draft, cursor: Cursor, line: str) -> Edit | None:
    """Puts a line after the place where a cursor begins again, if that comes before what selects by it."""
    again, moves = cursor.restart, cursor.moves
    if (
        again is None
        or again.moves is not None
        or moves is None
        or position(again.statement) > position(moves)
    ):
        return None
    return draft.after(again.statement, [line], level=1)


def divide(draft: Draft, loop: Loop, cursors: list[Cursor], rule: str) -> str:
    """Lets cursors begin again where the last rank's come to the end. How many ranks share the turns, as text; nothing where
    that is all of them."""
    few = [c for c in cursors if not _has_plenty(draft, c)]
    ranks = draft.fresh("ranks") if few and draft.can_insert(loop) else ""
    if ranks:
        some = draft.fresh("r")
        left = " and ".join(_has_batch(draft, c, some) for c in few)
        left = f"({left})" if len(few) > 1 else left
        line = f"{ranks} = max({some} for {some} in range(1, {SIZE} + 1) if {some} == 1 or {left})"
        draft.change(rule, loop, "Give every rank its own batches", WHY, [draft.before(loop, [line])])
    for cursor in cursors:
        _begin_together(draft, cursor, ranks or SIZE, rule)
    return ranks


def _begin_together(draft: Draft, cursor: Cursor, ranks: str, rule: str) -> None:
    again = cursor.restart
    assert again is not None
    draft.decide(again.test, Counted(rule))
    last = _last(draft, cursor, ranks)
    edits = [Edit(draft.module.span(again.read), _within(draft, again.read, last))]
    if again.is_equal:
        edits.append(
            strides.between(
                draft, again.test.left, again.test.comparators[0], _operator(again.test, again.read)
            )
        )
    draft.change(rule, again.test, _WHAT, WHY, edits, decision=Decision.DIVIDED)


def _last(draft: Draft, cursor: Cursor, ranks: str, at: ast.expr | None = None) -> str:
    """Where the last rank's cursor is as the test reads it: in the first turn, where the cursor is `at`, or in any."""
    again = cursor.restart
    assert again is not None
    turns = f"{ranks} - 1"
    if again.moves is not None:  # a step before the next turn
        turns = f"2 * ({ranks} - 1)" if at is None else f"{ranks} - 2"
    if not is_one(cursor.step) and (again.moves is None or at is not None):
        turns = f"({turns})"
    return cursor_places.moved(draft, cursor, turns, ranks, at)


def _has_batch(draft: Draft, cursor: Cursor, ranks: str) -> str:
    """A test whether the last of some ranks has a batch in the first turn."""
    again = cursor.restart
    assert again is not None
    test = _in_first_turn(draft, cursor, ranks)
    return test if again.goes_on else f"not {test}"


def _within(draft: Draft, read: ast.Name, text: str) -> str:
    """A sum in place of a cursor: in parentheses, unless it stands alone or begins another sum."""
    around = draft.syntax.parent[read]
    is_sum = (
        isinstance(around, ast.BinOp) and isinstance(around.op, (ast.Add, ast.Sub)) and around.left is read
    )
    return text if is_sum or isinstance(around, ast.Compare) else f"({text})"


def _operator(test: ast.Compare, read: ast.Name) -> str:
    return ">=" if any(n is read for n in ast.walk(test.left)) else "<="


def _in_first_turn(draft: Draft, cursor: Cursor, ranks: str) -> str:
    """The test where a cursor begins again, of the last of some ranks in the first turn."""
    again = cursor.restart
    assert again is not None
    test, read = again.test, draft.module.span(again.read)
    text, start = draft.module.text(test), draft.module.span(test).start
    at = _within(draft, again.read, _last(draft, cursor, ranks, cursor.first))
    if again.is_equal:
        edit = strides.between(draft, test.left, test.comparators[0], _operator(test, again.read))
        parts = sorted(
            [(read.start, read.end, at), (edit.span.start, edit.span.end, edit.new_text)], reverse=True
        )
    else:
        parts = [(read.start, read.end, at)]
    for begin, end, new in parts:
        text = text[: begin - start] + new + text[end - start :]
    return text


def _has_plenty(draft: Draft, cursor: Cursor) -> bool:
    """Whether there are known to be many more batches than ranks."""
    again = cursor.restart
    assert again is not None
    assert cursor.step is not None
    step, rows = feeding(draft).kinds.constant(cursor.step), _number(draft, again.rows)
    return step is not None and rows is not None and step > 0 and rows // step >= PLENTY


def _number(draft: Draft, rows: ast.expr) -> int | None:
    """How many there are: a number, or that of rows that can be seen."""
    match rows:
        case ast.Call(func=ast.Name(id="len"), args=[of]):
            return draft.facts.steps.shapes.rows(of)
        case ast.Subscript(value=ast.Attribute(attr="shape", value=of), slice=ast.Constant(value=0)):
            return draft.facts.steps.shapes.rows(of)
    return feeding(draft).kinds.constant(rows)


__all__ = ["beside", "can_divide", "divide"]
