"""Where a cursor is that a loop selects rows by, as text: that of a rank, and that of the last rank. Part of G4 and S5."""

from __future__ import annotations

import ast

from horovodize.facts.counting.cursors import Cursor
from horovodize.python.syntax import is_one
from horovodize.rules.drafting.draft import Draft, needs_parentheses


def last_of_a_turn(draft: Draft, cursor: Cursor, ranks: str, at: ast.expr | None) -> str:
    """Where the last rank's batch of a turn is: of the first turn, where the cursor is `at`, or of any."""
    turns = f"{ranks} - 1" if is_one(cursor.step) else f"({ranks} - 1)"
    return moved(draft, cursor, turns, ranks, at)


def within(test: ast.Compare, read: ast.Name, text: str) -> str:
    return text if read in (test.left, *test.comparators) else f"({text})"


def grows_with(e: ast.expr, read: ast.Name) -> bool:
    """Whether an expression is a variable, or it times or plus something."""
    if e is read:
        return True
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, (ast.Mult, ast.Add)):
        return False
    return any(
        grows_with(side, read) and isinstance(other, (ast.Name, ast.Attribute, ast.Constant))
        for side, other in ((e.left, e.right), (e.right, e.left))
    )


def moved(draft: Draft, cursor: Cursor, turns: str, ranks: str, at: ast.expr | None) -> str:
    """Where the batch is that is `turns` steps on from the first of a turn's: of the first turn if `at` is given."""
    assert cursor.step is not None
    assert cursor.first is not None
    step, first = text_of(draft, cursor.step), text_of(draft, cursor.first)
    on = turns if is_one(cursor.step) else f"{turns} * {step}"
    is_zero = isinstance(cursor.first, ast.Constant) and cursor.first.value == 0
    if at is not None:
        return on if is_zero else f"{first} + {on}"
    return (
        f"{cursor.name} * {ranks} + {on}"
        if is_zero
        else f"{first} + ({cursor.name} - {first}) * {ranks} + {on}"
    )


def text_of(draft: Draft, e: ast.expr) -> str:
    text = draft.module.text(e)
    return f"({text})" if needs_parentheses(e) else text


__all__ = ["grows_with", "last_of_a_turn", "moved", "text_of", "within"]
