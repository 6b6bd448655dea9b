"""What is kept and moved a little nearer to something with each step, as it is written: part of G7.

`decay * kept + (1 - decay) * other`, or as a difference, `kept - (1 - decay) * (kept - other)`: the share that is left is
raised to the power of the number of ranks."""

from __future__ import annotations

import ast
from typing import TypeGuard

from horovodize.rules.drafting.decisions import Counted
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import formulas_of_steps
from horovodize.source import Edit

WHAT = "Let the average forget as fast for the rows that are seen"
WHY = "A step stands for size() steps of one process: as much is left of an old value after as many rows."
_SAID = (
    "these weights follow others by the step, and each rank takes size() times fewer: they follow more slowly than alone; "
    "a share that stays with each step has to be raised to the power of the number of ranks"
)
_SAME = ("identity", "convert_to_tensor", "numpy", "value", "read_value")


def mix_number(draft: Draft, kept: str, value: ast.expr, adds: bool | None) -> None:
    """`baseline = 0.9 * baseline + 0.1 * reward`, `baseline += 0.1 * (reward - baseline)`: a number that losses are made with.
    Of another form it may be anything. `adds`: whether the value is added or taken away; None where it is the next number."""
    if adds is not None:
        share = nearing(draft, kept, value, adds=adds)
        if share is not None:
            near(draft, share, value)
    elif is_moving_average(draft, kept, value, adds):
        mix(draft, kept, value)


def is_moving_average(draft: Draft, kept: str, value: ast.expr, adds: bool | None) -> bool:
    """Whether a number is moved a little nearer to another one, in one of the forms that `mix_number` knows."""
    if adds is not None:
        return nearing(draft, kept, value, adds=adds) is not None
    ways = (shares, _moved, _rest)
    return any(way(draft, kept, value) is not None for way in ways)


def mix(draft: Draft, kept: str, value: ast.expr) -> None:
    """`decay * kept + (1 - decay) * other`: what is left, and what comes in instead."""
    found = shares(draft, kept, value)
    rest = _rest(draft, kept, value)
    if rest is not None:
        formulas_of_steps.tell(draft, rest, "G7")
        raise_to_power(draft, rest)
        return
    if found is None:
        if not _is_copy(draft, value):
            near(draft, _moved(draft, kept, value), value)
        return
    left, comes = found
    formulas_of_steps.tell(draft, left, "G7")
    rest = _rest_of_one(comes)
    if rest is not None and ast.dump(rest) == ast.dump(left):
        raise_to_power(draft, left)
        raise_to_power(draft, rest)
    elif not draft.was(left, Counted):
        text = draft.module.text(left)
        text = text if isinstance(left, ast.Constant) else f"({text})"
        edit = Edit(draft.module.span(comes), f"(1 - {text} ** {SIZE})")
        draft.change("G7", comes, WHAT, WHY, [edit])
        _raise_written(draft, left)


def _is_copy(draft: Draft, value: ast.expr) -> bool:
    """Whether a value is another model's variable as it is, beside which nothing of the old one stays: `tf.identity(v)` in a
    loop over variables."""
    if isinstance(value, ast.Call) and draft.names.last(value.func) in _SAME:
        held = value.func.value if isinstance(value.func, ast.Attribute) and not value.args else None
        value = value.args[0] if value.args else held or value
    bound = draft.module.scopes.reaching(value) if isinstance(value, ast.Name) else []
    return bool(bound) and all(b.kind == "item" for b in bound)


def _moved(draft: Draft, kept: str, value: ast.expr) -> ast.expr | None:
    """`share` of `kept + share * (other - kept)`"""
    if not is_sum(value) or not stands_for(draft, value.left, kept):
        return None
    return nearing(draft, kept, value.right, adds=isinstance(value.op, ast.Add))


def _rest(draft: Draft, kept: str, value: ast.expr) -> ast.expr | None:
    """`share` of `other + share * (kept - other)`, which is what stays of what is kept."""
    if not is_sum(value) or not isinstance(value.op, ast.Add):
        return None
    for other, product in ((value.left, value.right), (value.right, value.left)):
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            continue
        for share, distance in ((product.left, product.right), (product.right, product.left)):
            if isinstance(distance, ast.BinOp) and isinstance(distance.op, ast.Sub):
                if stands_for(draft, distance.left, kept) and ast.dump(distance.right) == ast.dump(other):
                    return share
    return None


def nearing(draft: Draft, kept: str, change: ast.expr, *, adds: bool) -> ast.expr | None:
    """`share` of `share * (kept - other)`, which is taken away; or of `share * (other - kept)`, which is added."""
    if not isinstance(change, ast.BinOp) or not isinstance(change.op, ast.Mult):
        return None
    for share, distance in ((change.left, change.right), (change.right, change.left)):
        if isinstance(distance, ast.BinOp) and isinstance(distance.op, ast.Sub):
            ends = (distance.right, distance.left) if adds else (distance.left, distance.right)
            if stands_for(draft, ends[0], kept) and not stands_for(draft, ends[1], kept):
                return share
    return None


def near(draft: Draft, share: ast.expr | None, value: ast.expr) -> None:
    """What comes in with each step, of `kept -= share * (kept - other)`."""
    if share is None:
        draft.note("G7", value, _SAID)
        return
    rest = _rest_of_one(share)
    formulas_of_steps.tell(draft, rest or share, "G7")
    if rest is not None:
        raise_to_power(draft, rest)
    elif draft.decide(share, Counted("G7")):
        opening, closing = ("(", ")") if needs_parentheses(share) else ("", "")
        edits = Edit.around(draft.module.span(share), f"(1 - (1 - {opening}", f"{closing}) ** {SIZE})")
        draft.change("G7", share, WHAT, WHY, edits)


def _raise_written(draft: Draft, left: ast.expr) -> None:
    """The share that is left, which may stand in parentheses of its own."""
    if not draft.decide(left, Counted("G7")):
        return
    span, text = draft.module.span(left), draft.document.text
    if text[span.start - 1] == "(" and text[span.end : span.end + 1] == ")":
        draft.change("G7", left, WHAT, WHY, [Edit.insert(span.end + 1, f" ** {SIZE}", span)])
    else:
        draft.change("G7", left, WHAT, WHY, _to_the_power(draft, left))


def shares(draft: Draft, kept: str, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """(the share of what is kept, that of what comes in) of a sum of two products, which are 1 together."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    products = [
        p for p in (value.left, value.right) if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Mult)
    ]
    own = [p for p in products if stands_for(draft, p.left, kept) or stands_for(draft, p.right, kept)]
    if len(products) != 2 or len(own) != 1:
        return None
    left = own[0].left if stands_for(draft, own[0].right, kept) else own[0].right
    other = next(p for p in products if p is not own[0])
    return next(((left, comes) for comes in (other.left, other.right) if _are_one(left, comes)), None)


def _are_one(left: ast.expr, comes: ast.expr) -> bool:
    """`0.9` and `0.1`, `x` and `1 - x`"""
    for one, other in ((left, comes), (comes, left)):
        rest = _rest_of_one(one)
        if rest is not None and ast.dump(rest) == ast.dump(other):
            return True
    numbers = [e.value for e in (left, comes) if isinstance(e, ast.Constant) and isinstance(e.value, float)]
    return len(numbers) == 2 and abs(sum(numbers) - 1) < 1e-9


def stands_for(draft: Draft, e: ast.expr, kept: str) -> bool:
    """Whether an expression is what is kept, or its value: `k`, `k.numpy()`, `K.get_value(k)`."""
    text = ast.unparse(e)
    if isinstance(e, ast.Call) and len(e.args) == 1 and draft.names.last(e.func) in ("get_value", "float"):
        return stands_for(draft, e.args[0], kept)
    if isinstance(e, ast.Name) and text != kept:
        text = ast.unparse(named(draft, e))
    return text == kept or text in (f"{kept}.{method}()" for method in ("numpy", "value", "read_value"))


def _rest_of_one(e: ast.expr) -> ast.expr | None:
    """`x` of `1 - x`."""
    is_rest = isinstance(e, ast.BinOp) and isinstance(e.op, ast.Sub) and isinstance(e.left, ast.Constant)
    return e.right if is_rest and isinstance(e, ast.BinOp) and ast.unparse(e.left) in ("1", "1.0") else None


def is_sum(n: ast.AST) -> TypeGuard[ast.BinOp]:
    return isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Add, ast.Sub))


def named(draft: Draft, e: ast.expr) -> ast.expr:
    """What a name is given, where that is one thing."""
    bindings = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    if len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path:
        return bindings[0].value or e
    return e


def raise_to_power(draft: Draft, share: ast.expr) -> None:
    """`decay` → `decay ** hvd.size()`"""
    if draft.decide(share, Counted("G7")):
        draft.change("G7", share, WHAT, WHY, _to_the_power(draft, share))


def _to_the_power(draft: Draft, share: ast.expr) -> tuple[Edit, ...]:
    is_atom = isinstance(share, (ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript))
    opening, closing = ("", "") if is_atom else ("(", ")")
    return Edit.around(draft.module.span(share), opening, f"{closing} ** {SIZE}")
