"""Where a line can follow the reading of a checkpoint, on ranks that have one and on ranks that don't: part of G6.

`if manager.latest_checkpoint: checkpoint.restore(…)` → after the `if`, to which all ranks come. A checkpoint that is made in
that branch exists there only: the ranks take the branch that rank 0 takes, and the line stands in it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import CALLABLES, end, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import agree_value, can_agree
from horovodize.source import Edit

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def reached_by_all(draft: Draft, statement: ast.stmt) -> ast.stmt | None:
    """A statement, or the one around it that all ranks come to: `if manager.latest_checkpoint: checkpoint.restore(…)`."""
    while True:
        around = draft.syntax.parent[statement]
        tried = (
            isinstance(around, ast.Try) and around.handlers
        )  # another rank may fail where this one goes on
        if not tried and can_agree(draft, statement) and draft.can_insert(statement):
            break
        if not isinstance(around, (ast.If, ast.Try, ast.With)):
            return None
        statement = around
    return statement


def after_restoring(draft: Draft, place: ast.stmt, restored: ast.stmt, line: str) -> list[Edit]:
    """What lets each rank run a line once, whether it has restored something or not. Nothing where that can't be written.

    place: what all ranks come to. Where a branch of it leaves (`if found: restore(found); return True`), the line stands in
    that branch, too, so that ranks with a checkpoint and without one run it together"""
    leaves = [n for n in ast.walk(place) if isinstance(n, _LEAVING)]
    if not leaves or place is restored:
        return [draft.after(place, [line])] if not leaves else []
    branches = [place.body, place.orelse] if isinstance(place, ast.If) else []
    last = [branch[-1] for branch in branches if branch]
    ends = [s for s in last if isinstance(s, _LEAVING)]
    if (
        restored not in [s for branch in branches for s in branch]
        or restored in ends
        or len(leaves) > len(ends)
    ):
        return []
    after = [draft.after(place, [line])] if len(ends) < 2 else []
    return [*(draft.before(s, [line]) for s in ends), *after]


def may_come_before(draft: Draft, first: ast.AST, second: ast.AST) -> bool:
    """Whether one place may be come to before another, also in functions that are called in this order."""
    ways = draft.drive.ways(first)
    for a, b in ((a, b) for one in ways for other in draft.drive.ways(second) for a in one for b in other):
        if a.function is b.function and a.node is not b.node:
            if set(a.loops).intersection(b.loops) or _begins(a.node) < _begins(b.node):
                return True
            if draft.syntax.inside(a.node, b.node):  # `Trainer(path).run()` makes it before
                return True
    return not ways


def _begins(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def is_there(draft: Draft, name: str, restored: ast.stmt, place: ast.stmt | None = None) -> bool:
    """Whether what is called `name` in a statement that restores it exists behind `place` around it, too, whichever branch is
    taken: it isn't made in a branch. Without a place, behind all branches."""
    branches = [*_branches(draft, restored, place)]
    if not branches:
        return True
    first, *further = name.split(".")
    for n in ast.walk(branches[-1]):
        if not isinstance(n, (ast.Name, ast.Attribute)) or not isinstance(n.ctx, ast.Store):
            continue
        holds_it = n.id == first if isinstance(n, ast.Name) else further and _is_part(name, n)
        if holds_it and position(n) < end(restored):
            return False
    return True


def take_branch_of_rank_0(draft: Draft, restored: ast.stmt, place: ast.stmt, what: str, why: str) -> bool:
    """Lets all ranks come to a statement that restores something, or none: each `if` around it is decided by rank 0. False
    where they can't."""
    branches = [*_branches(draft, restored, place)]
    if not all(isinstance(b, ast.If) for b in branches) or not draft.can_insert(restored):
        return False
    tests = [b.test for b in reversed(branches) if isinstance(b, ast.If)]  # from outside
    return all(agree_value(draft, test, "G6", what, why, is_reached=test is not tests[0]) for test in tests)


def _is_part(name: str, e: ast.Attribute) -> bool:
    """Whether a name goes through another one: `self.checkpoint.step` through `self.checkpoint`."""
    return f"{name}.".startswith(f"{ast.unparse(e)}.")


def _branches(draft: Draft, restored: ast.stmt, place: ast.stmt | None) -> Iterator[ast.stmt]:
    """What may leave out a statement within a place, or in its function, from the inside."""
    for a in (restored, *draft.syntax.ancestors(restored)):
        if isinstance(a, CALLABLES):
            return
        if isinstance(a, (ast.If, ast.Try)) and a is not restored:
            yield a
        if a is place:
            return


__all__ = ["after_restoring", "is_there", "may_come_before", "reached_by_all", "take_branch_of_rank_0"]
