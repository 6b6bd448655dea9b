"""Rows that a loss is differentiated by (`tape.watch(x)`, `tape.gradient(u, x)`): part of strong scaling.

Each use has to be of one tensor, so these rows are divided once, before the loop, rather than where they are used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument, end, position
from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit


def watched(draft: Draft) -> set[str]:
    """What gradients are taken with respect to, or is watched for that, as it is called: names and attributes."""
    found: set[str] = set()
    for call in draft.sites.method_calls("watch", "gradient", "jacobian", "batch_jacobian"):
        assert isinstance(call.func, ast.Attribute)
        e = argument(call, "tensor", 0) if call.func.attr == "watch" else argument(call, "sources", 1)
        parts = e.elts if isinstance(e, (ast.List, ast.Tuple)) else [e]
        found |= {ast.unparse(p) for p in parts if isinstance(p, (ast.Name, ast.Attribute))}
    return found


def named_in(rows: ast.expr, names: set[str]) -> Iterator[ast.Name | ast.Attribute]:
    """The places in an expression where one of these names is read."""
    for n in ast.walk(rows):
        if isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) in names:
            yield n


def divided_before(
    draft: Draft, site: ast.Call, rows: ast.Name | ast.Attribute, helper: str
) -> list[Edit] | None:
    """`x = share_rows(x)` before the loop that trains; None where something else would see a part of the rows then, or see
    them divided twice."""
    ways = draft.drive.ways(site)
    loops = {loop for way in ways for frame in way for loop in frame.loops}
    outermost = [frame.loops[-1] for way in ways for frame in reversed(way) if frame.loops][:1]
    if not outermost or len(ways) != 1:
        return None
    loop = outermost[0]
    if not draft.can_insert(loop) or not _is_same_there(draft, rows, loop):
        return None
    text = ast.unparse(rows)
    for n in draft.syntax.every(ast.Name, ast.Attribute):
        if ast.unparse(n) != text:
            continue
        if isinstance(n.ctx, ast.Store) and (
            any(draft.syntax.inside(n, each) for each in loops) or position(n) > end(loop)
        ):
            return None
        if (
            isinstance(n.ctx, ast.Load)
            and position(n) > end(loop)
            and draft.syntax.function(n) is draft.syntax.function(loop)
        ):
            return None  # it is shown, or measured, as a whole
    return [draft.before(loop, [f"{text} = {helper}({text})"])]


def _is_same_there(draft: Draft, rows: ast.Name | ast.Attribute, loop: ast.stmt) -> bool:
    """Whether a name is bound again before a loop for all who read it: in the scope that it lives in."""
    root: ast.expr = rows
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    here = draft.syntax.function(loop)
    if isinstance(rows, ast.Attribute):  # `self.x`, in a method of the same object
        own = draft.syntax.function(rows)
        if (
            here is None
            or own is None
            or draft.syntax.method_class(here) is not draft.syntax.method_class(own)
        ):
            return False
        return root.id == here.args.args[0].arg if here.args.args else False
    scope = draft.module.scopes.lookup(root.id, rows)
    return scope is (here if here is not None else draft.module.tree)


__all__ = ["divided_before", "named_in", "watched"]
