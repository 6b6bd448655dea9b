"""Where the cursor of a loop begins again: `if i + n > len(x): i = 0`.

Such a cursor moves on alike in every turn but for the one that comes to the end of the rows. Where it begins again is a test
that holds from some number on, beside the selection: before it or after the cursor has moved on, never between the two. Or the
cursor moves on where it doesn't begin again: `if i + 2 * n > len(x): i = 0`, `else: i += n`, after all that selects by it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from horovodize.python.augmented import added
from horovodize.python.comparisons import faced
from horovodize.python.syntax import Loop, end, position
from horovodize.source.nodes import walk

_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
_GREATER = (ast.Gt, ast.GtE, ast.Eq)
_LESS = (ast.Lt, ast.LtE)


@dataclass(frozen=True, eq=False)
class Restart:
    """A statement that lets a cursor begin again.

    statement  the `if`
    test       its test
    read       the cursor in that test
    rows       what its end is told by: `len(x)` of `i + n > len(x)`, of `i > len(x) - n` and of `len(x) - i < n`
    begins     the statement that sets the cursor
    branch     the branch that this stands in
    moves      what moves the cursor on in the other branch; None where there is none"""

    statement: ast.If
    test: ast.Compare
    read: ast.Name
    rows: ast.expr
    begins: ast.Assign
    branch: list[ast.stmt]
    moves: ast.stmt | None

    @property
    def first(self) -> ast.expr:
        """What the cursor is set to."""
        return self.begins.value

    @property
    def goes_on(self) -> bool:
        """Whether the test says that the cursor goes on, rather than that it begins again."""
        return self.branch is self.statement.orelse

    @property
    def is_equal(self) -> bool:
        """Whether it asks if the cursor has come to just that: `if i == len(x):`"""
        return isinstance(self.test.ops[0], ast.Eq)

    def is_beside(self, move: ast.stmt, selecting: Sequence[ast.expr | ast.stmt]) -> bool:
        """Whether it stands before all that selects by the cursor, or after what moves it on; after all that selects where it
        moves the cursor on itself."""
        if self.moves is not None:
            return max(end(use) for use in selecting) <= position(self.statement)
        first = min(position(use) for use in selecting)
        return end(self.statement) <= first or position(self.statement) > position(move)

    def also_sets(self) -> set[str]:
        """The names that the branch sets besides the cursor, or parts of which it sets."""
        stored = (n for s in self.branch for n in walk(s) if n is not self.begins.targets[0])
        return {n.id for n in stored if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))}


def restart_of(loop: Loop, name: str) -> Restart | None:
    """The only statement of a loop's body, apart from what moves it on, that sets a cursor; None where there is none like it,
    or where the cursor is read for anything else in it."""
    found = [
        (statement, begins, branch)
        for statement in loop.body
        if isinstance(statement, ast.If)
        for branch in (statement.body, statement.orelse)
        for begins in branch
        if isinstance(begins, ast.Assign) and ast.unparse(begins.targets[0]) == name
        if added(begins) is None
    ]
    if len(found) != 1:
        return None
    statement, begins, branch = found[0]
    test, goes_on = statement.test, branch is statement.orelse
    other = statement.body if goes_on else statement.orelse
    moved = [added(s) for s in other]
    if len(other) > 1 or any(m is None or ast.unparse(m.target) != name for m in moved):
        return None
    inside = [n for s in branch for n in walk(s)]
    named = [n for n in inside if isinstance(n, ast.Name) and n.id == name]
    if (
        len(begins.targets) > 1
        or named != [begins.targets[0]]
        or any(isinstance(n, _LEAVING) for n in inside)
    ):
        return None
    reads = [n for n in walk(test) if isinstance(n, ast.Name) and n.id == name]
    sides = faced(test, _LESS if goes_on else _GREATER)
    if sides is None or len(reads) != 1 or not isinstance(test, ast.Compare):
        return None
    read = reads[0]
    more, less = sides  # where the cursor goes on: those of the test that it doesn't
    if isinstance(test.ops[0], ast.Eq) and _sign(less, read) > 0:
        more, less = less, more
    if _sign(more, read) <= 0 and (isinstance(test.ops[0], ast.Eq) or _sign(less, read) >= 0):
        return None
    rows = less if _sign(more, read) > 0 else less.left if isinstance(less, ast.BinOp) else less
    if isinstance(rows, ast.BinOp) and isinstance(rows.op, ast.Sub):
        rows = rows.left
    return Restart(statement, test, read, rows, begins, branch, other[0] if other else None)


def _sign(e: ast.expr, read: ast.Name) -> int:
    """How an expression goes with a variable: 1 as it grows, -1 against it (`len(x) - i`), 0 if that can't be seen."""
    if e is read:
        return 1
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, (ast.Add, ast.Sub, ast.Mult)):
        return 0
    is_right = any(n is read for n in walk(e.right))
    side, other = (e.right, e.left) if is_right else (e.left, e.right)
    if isinstance(e.op, ast.Mult) and not isinstance(other, (ast.Name, ast.Attribute, ast.Constant)):
        return 0
    return -_sign(side, read) if isinstance(e.op, ast.Sub) and is_right else _sign(side, read)


__all__ = ["Restart", "restart_of"]
