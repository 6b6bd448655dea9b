"""Lists that get an item with each step, whose length counts steps: part of G5.

`losses.append(loss)`, then `if len(losses) == 100: save(); losses = []` comes every 100 steps."""

from __future__ import annotations

import ast

from horovodize.rules import capped_lists, counted, guarded
from horovodize.rules.draft import Draft

_SHRINKING = ("pop", "popleft", "remove", "clear")
_GROWING = ("append", "appendleft", "add", "extend", "insert", "update", "push")


def counts(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is the length of a list that gets one item with each step of a rank's own, and is emptied by what
    hangs on its length, or never."""
    if not isinstance(e, ast.Call) or draft.names.last(e.func) != "len" or len(e.args) != 1:
        return False
    held = e.args[0]
    if not isinstance(held, (ast.Name, ast.Attribute, ast.Subscript)) or guarded.trains(draft, e):
        return False  # it may be the batch that is trained on
    text, grows = ast.unparse(held), growing(draft, held)
    return (
        bool(grows)
        and all(call.func.attr == "append" for call in grows if isinstance(call.func, ast.Attribute))
        and all(counted.is_by_step(draft, call) for call in grows)
        and not capped_lists.is_capped(draft, held)
        and (_is_emptied(draft, e, text) or _only_grows(draft, held, text))
    )


def comes_again(draft: Draft, e: ast.expr) -> bool:
    """Whether what hangs on the length of such a list empties it: it comes every so many steps, however few, and isn't a look
    at the first of them."""
    return isinstance(e, ast.Call) and counts(draft, e) and _is_emptied(draft, e, ast.unparse(e.args[0]))


def growing(draft: Draft, held: ast.Name | ast.Attribute | ast.Subscript) -> list[ast.Call]:
    """Where a list gets more items."""
    text, function = ast.unparse(held), draft.syntax.owner(held)
    return [
        call
        for call in draft.syntax.calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in _GROWING
        and ast.unparse(call.func.value) == text
        and draft.syntax.owner(call) is function
    ]


def _only_grows(draft: Draft, held: ast.expr, text: str) -> bool:
    """Whether a list begins as an empty one before the loops that fill it, and nothing else is done to it than to read it."""
    if not isinstance(held, (ast.Name, ast.Attribute)):
        return False
    begun = draft.values.bindings(held)
    empty = [b for b in begun if isinstance(b.value, ast.List) and not b.value.elts and not b.path]
    loops = {d.loop for d in draft.facts.feeding.drivers}
    if (
        not begun
        or len(empty) != len(begun)
        or any(loops & {*draft.syntax.loops(b.statement)} for b in begun)
    ):
        return False
    return not any(
        ast.unparse(n.value) == text
        and (n.attr in _SHRINKING if isinstance(n, ast.Attribute) else _is_set(n))
        for n in draft.syntax.every(ast.Attribute, ast.Subscript)
    )


def _is_set(n: ast.Subscript) -> bool:
    return not isinstance(n.ctx, ast.Load)


def _is_emptied(draft: Draft, e: ast.Call, text: str) -> bool:
    """Whether what hangs on the length empties the list."""
    decision = draft.syntax.statement(e)
    body = decision.body if isinstance(decision, ast.If) else []
    for n in (n for s in body for n in ast.walk(s)):
        if isinstance(n, ast.Assign) and any(ast.unparse(t) == text for t in n.targets):
            return isinstance(n.value, ast.List) and not n.value.elts
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "clear":
            if ast.unparse(n.func.value) == text:
                return True
    return False
