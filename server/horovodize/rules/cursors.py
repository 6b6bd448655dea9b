"""Loops that select their batches by a cursor of their own: part of G4 and S5.

`while i < n: …x[i : i + size]…; i += size`. Divided in number alone, all ranks would take the same first batches. So each
rank selects by its own cursor, as far on as the batches of the ranks before it and of the turns before reach, and the loop
goes on while there is a batch left for the last rank.
"""

from __future__ import annotations

import ast

from horovodize.rules.draft import RANK, SIZE, Draft, needs_parentheses
from horovodize.rules.ranges import EVERYTHING, WHY
from horovodize.source import Edit
from horovodize.summary.cursors import Cursor
from horovodize.summary.feeding import Driver
from horovodize.summary.syntax import Loop

_WHAT = "Give every rank its own batches"


def note_unsteady(draft: Draft, driver: Driver, cursors: list[Cursor], rule: str) -> bool:
    """Says of a loop that its batches can't be dealt out; whether that is so."""
    unsteady = [c.name for c in cursors if c.step is None or not draft.can_insert(driver.loop.body[0])]
    if unsteady:
        draft.note(
            rule,
            driver.loop,
            f"`{unsteady[0]}` selects the batches, and not every turn moves it on alike, so they are not divided: {EVERYTHING}",
        )
    return bool(unsteady)


def divide_test(draft: Draft, loop: ast.While, cursors: list[Cursor], rule: str) -> bool:
    """`while i < n` → `while i * size() + (size() - 1) * step < n`: there is a batch left for the last rank. Whether the test
    is of such a form."""
    test = loop.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Lt, ast.LtE)):
        return False
    named = {c.name: c for c in cursors}
    read = [n for n in ast.walk(test) if isinstance(n, ast.Name) and n.id in named]
    if len(test.ops) != 1 or len(read) != 1 or not _grows_with(test.left, read[0]):
        return False
    draft.divided = True
    cursor, lone = named[read[0].id], test.left is read[0]
    text = _moved(draft, cursor, f"({SIZE} - 1)" if not _is_one(cursor.step) else f"{SIZE} - 1")
    edit = Edit(draft.module.span(read[0]), text if lone else f"({text})")
    draft.change(rule, test, "Divide the steps among the ranks", WHY, [edit])
    return True


def select_own(draft: Draft, loop: Loop, cursors: list[Cursor], rule: str) -> None:
    """Lets each rank select by its own cursor."""
    for cursor in cursors:
        own = draft.fresh(f"own_{cursor.name}")
        edits = [
            draft.before(loop.body[0], [f"{own} = {_moved(draft, cursor, RANK)}"]),
            *(Edit(draft.module.span(use), own) for use in cursor.selecting),
        ]
        draft.change(rule, cursor.selecting[0], _WHAT, WHY, edits)


def _grows_with(e: ast.expr, read: ast.Name) -> bool:
    """Whether an expression is a variable, or it times or plus something."""
    if e is read:
        return True
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, (ast.Mult, ast.Add)):
        return False
    return any(
        _grows_with(side, read) and isinstance(other, (ast.Name, ast.Attribute, ast.Constant))
        for side, other in ((e.left, e.right), (e.right, e.left))
    )


def _moved(draft: Draft, cursor: Cursor, turns: str) -> str:
    """Where the batch is that is `turns` steps on from the first of this turn's."""
    assert cursor.step is not None
    assert cursor.first is not None
    step, first = _text(draft, cursor.step), _text(draft, cursor.first)
    on = turns if _is_one(cursor.step) else f"{turns} * {step}"
    if isinstance(cursor.first, ast.Constant) and cursor.first.value == 0:
        return f"{cursor.name} * {SIZE} + {on}"
    return f"{first} + ({cursor.name} - {first}) * {SIZE} + {on}"


def _text(draft: Draft, e: ast.expr) -> str:
    text = draft.module.text(e)
    return f"({text})" if needs_parentheses(e) else text


def _is_one(e: ast.expr | None) -> bool:
    return isinstance(e, ast.Constant) and e.value == 1
