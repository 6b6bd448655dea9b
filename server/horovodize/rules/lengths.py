"""Lists that get an item with each step, whose length counts steps: part of G5.

`losses.append(loss)`, then `if len(losses) == 100: save(); losses = []` comes every 100 steps."""

from __future__ import annotations

import ast

from horovodize.rules import counted, guarded
from horovodize.rules.draft import Draft

_GROWING = ("append", "appendleft", "add", "extend", "insert", "update", "push")


def counts(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is the length of a list that gets one item with each step of a rank's own, and is emptied by what
    hangs on its length."""
    if not isinstance(e, ast.Call) or draft.names.last(e.func) != "len" or len(e.args) != 1:
        return False
    held = e.args[0]
    if not isinstance(held, (ast.Name, ast.Attribute)) or guarded.trains(draft, e):
        return False  # it may be the batch that is trained on
    text, grows = ast.unparse(held), growing(draft, held)
    return (
        bool(grows)
        and all(call.func.attr == "append" for call in grows if isinstance(call.func, ast.Attribute))
        and all(counted.is_by_step(draft, call) for call in grows)
        and _is_emptied(draft, e, text)
    )


def growing(draft: Draft, held: ast.Name | ast.Attribute) -> list[ast.Call]:
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
