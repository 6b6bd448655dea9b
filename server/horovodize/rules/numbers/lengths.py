"""Lists that get an item with each step, whose length counts steps: part of G5.

`losses.append(loss)`, then `if len(losses) == 100: save(); losses = []` comes every 100 steps."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import guarded, with_each_step
from horovodize.rules.smoothing import capped_lists

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
        and all(with_each_step.is_by_step(draft, call) for call in grows)
        and not capped_lists.is_capped(draft, held)
        and (_is_emptied(draft, e, text) or _only_grows(draft, held, text))
    )


def comes_again(draft: Draft, e: ast.expr) -> bool:
    """Whether what hangs on the length of such a list empties it: it comes every so many steps, however few, and isn't a look
    at the first of them."""
    return isinstance(e, ast.Call) and counts(draft, e) and _is_emptied(draft, e, ast.unparse(e.args[0]))


def growing(draft: Draft, held: ast.Name | ast.Attribute | ast.Subscript) -> list[ast.Call]:
    """Where a list gets more items, also by another name of the object that has it: `self.losses` of `trainer.losses`."""
    text, function = ast.unparse(held), draft.syntax.owner(held)
    set_by = set(draft.values.attribute_bindings(held)) if isinstance(held, ast.Attribute) else set()
    return [
        call
        for call in draft.syntax.calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in _GROWING
        and (
            (ast.unparse(call.func.value) == text and draft.syntax.owner(call) is function)
            or (
                isinstance(call.func.value, ast.Attribute)
                and not set_by.isdisjoint(draft.values.attribute_bindings(call.func.value))
            )
        )
    ]


def _only_grows(draft: Draft, held: ast.expr, text: str) -> bool:
    """Whether a list begins as an empty one before the loops that fill it, also one that a dictionary holds, and nothing else
    is done to it than to read it."""
    whole = held.value if isinstance(held, ast.Subscript) else held
    if not isinstance(whole, (ast.Name, ast.Attribute)):
        return False
    begun = draft.values.bindings(whole)
    loops = {d.loop for d in draft.facts.feeding.drivers}
    if not begun or not all(b.value is not None and not b.path and _is_empty(b.value, held) for b in begun):
        return False
    if any(loops & {*draft.syntax.loops(b.statement)} for b in begun):
        return False
    again = [n for n in draft.syntax.every(ast.Subscript) if _is_set(n) and ast.unparse(n) == text]
    if not all(_begins_again(draft, n) and not loops & {*draft.syntax.loops(n)} for n in again):
        return False
    return not any(
        ast.unparse(n.value) == text
        and (n.attr in _SHRINKING if isinstance(n, ast.Attribute) else _is_set(n))
        for n in draft.syntax.every(ast.Attribute, ast.Subscript)
    )


def _begins_again(draft: Draft, item: ast.Subscript) -> bool:
    """`history["loss"] = []`"""
    s = draft.syntax.parent[item]
    return isinstance(s, ast.Assign) and isinstance(s.value, ast.List) and not s.value.elts


def _is_empty(begun: ast.expr, held: ast.expr) -> bool:
    """Whether a list is empty where it begins, or where what holds it does: `{"loss": [], "rate": []}`, `defaultdict(list)`."""
    if not isinstance(held, ast.Subscript):
        return isinstance(begun, ast.List) and not begun.elts
    match begun:
        case ast.Dict(keys=keys, values=values):
            of_key = [v for k, v in zip(keys, values, strict=True) if k is not None and _is_key(k, held)]
            return len(of_key) == 1 and isinstance(of_key[0], ast.List) and not of_key[0].elts
        case ast.Call(func=func, args=[ast.Name(id="list")]):
            return ast.unparse(func).rpartition(".")[2] == "defaultdict"
        case _:
            return False


def _is_key(key: ast.expr, held: ast.Subscript) -> bool:
    return isinstance(held.slice, ast.Constant) and ast.dump(key) == ast.dump(held.slice)


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
