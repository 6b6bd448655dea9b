"""Weights that a program keeps an average of in dictionaries, lists and arrays, and where it mixes them: part of G7.

shadow[name] = 0.99 * shadow[name] + 0.01 * weight
kept = [0.99 * k + 0.01 * w for k, w in zip(kept, model.get_weights())]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from horovodize.facts.counting.variable_additions import within
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.smoothing.mixtures import named, shares, stands_for

WEIGHTS = {
    "trainable_variables",
    "trainable_weights",
    "variables",
    "weights",
    "get_collection",
    "global_variables",
}
_COPYING = ("list", "tuple", "copy", "deepcopy")
_MADE = (ast.Call, ast.ListComp, ast.IfExp)
_ARRAYS = ("array", "asarray", "copy", "deepcopy")
# What is kept, what it is changed by, whether that is added, and where.
Change: TypeAlias = tuple[str, ast.expr, bool, ast.AST]


def kept_lists(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of `kept = [0.99 * k + 0.01 * w for k, w in zip(kept, model.get_weights())]`, the first time aside."""
    for statement in draft.syntax.every(ast.Assign):
        target, value = statement.targets[0], statement.value
        if not isinstance(target, (ast.Name, ast.Attribute)) or not isinstance(value, _MADE):
            continue
        arms = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
        yield from ((name, mixed, statement) for name, mixed in _mapped(draft, target, value))
        for made in (arm for arm in arms if isinstance(arm, ast.ListComp)):
            pairs: ast.AST = made.generators[0].iter
            items = made.generators[0].target
            if isinstance(pairs, ast.Name):  # `pairs = zip(…)` before
                found = [o.node for o in draft.values.origins(pairs) if not o.path]
                pairs = found[0] if len(found) == 1 else pairs
            if not isinstance(items, ast.Tuple) or not isinstance(pairs, ast.Call):
                continue
            if draft.names.last(pairs.func) != "zip" or not any(_is_weights(draft, e) for e in pairs.args):
                continue
            for of, name in zip(pairs.args, items.elts, strict=False):
                is_mixed = shares(draft, ast.unparse(name), made.elt) is not None
                if ast.unparse(of) == ast.unparse(target) and is_mixed:
                    yield ast.unparse(name), made.elt, statement


def _mapped(draft: Draft, target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The same of `kept = map_structure(lambda k, w: 0.99 * k + 0.01 * w, kept, model.get_weights())`"""
    if not isinstance(value, ast.Call) or draft.names.last(value.func) != "map_structure" or not value.args:
        return
    mixes, *lists = value.args
    if isinstance(mixes, ast.Lambda) and any(_is_weights(draft, e) for e in lists):
        for name, of in zip(mixes.args.args, lists, strict=False):
            if ast.unparse(of) == ast.unparse(target) and shares(draft, name.arg, mixes.body) is not None:
                yield name.arg, mixes.body


def set_items(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of `shadow[name] = 0.99 * shadow[name] + 0.01 * weight`, under whatever name it is made, and of an array that is
    set as a whole, `copy[...] = 0.99 * copy + 0.01 * weight`."""
    for statement in draft.syntax.every(ast.Assign):
        target = statement.targets[0]
        if isinstance(target, ast.Subscript):
            value, kept = _set_to(draft, statement.value), ast.unparse(target)
            if _is_whole(target.slice):
                kept = ast.unparse(target.value)
        elif isinstance(statement.value, ast.DictComp):  # `{n: 0.99 * kept[n] + 0.01 * w for n, w in …}`
            value, kept = statement.value.value, f"{ast.unparse(target)}[{ast.unparse(statement.value.key)}]"
        else:
            continue
        if _is_mixed(draft, value, kept):
            yield kept, value, statement
    for call in draft.module.calls_of("numpy.copyto"):
        if len(call.args) == 2 and _is_mixed(draft, call.args[1], ast.unparse(call.args[0])):
            yield ast.unparse(call.args[0]), call.args[1], call


def _set_to(draft: Draft, e: ast.expr) -> ast.expr:
    """`mean` of `mean.copy()`, and what that is set to."""
    value = named(draft, e)
    inner = _copied(draft, value) if isinstance(value, ast.Call) else None
    return named(draft, inner) if inner is not None else value


def _is_mixed(draft: Draft, value: ast.expr, kept: str) -> bool:
    parts = list(leaves(value))
    return any(stands_for(draft, e, kept) for e in parts) and _has_weights(draft, parts, kept)


def _is_whole(place: ast.expr) -> bool:
    """`[...]`, `[:]`"""
    if isinstance(place, ast.Slice):
        return place.lower is place.upper is place.step is None
    return isinstance(place, ast.Constant) and place.value is ...


def set_in_two(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of an array in two statements, `copy *= 0.99` and `copy += 0.01 * weight`."""
    for more in draft.syntax.every(ast.AugAssign):
        less, kept = _lessened_before(draft, more), ast.unparse(more.target)
        if less is not None and _has_weights(draft, list(leaves(more.value)), kept):
            stays = ast.BinOp(more.target, ast.Mult(), less.value)
            yield kept, ast.copy_location(ast.BinOp(stays, ast.Add(), more.value), more.value), more


def _lessened_before(draft: Draft, more: ast.AugAssign) -> ast.AugAssign | None:
    """The statement right before one that adds to something, where it multiplies that."""
    block = draft.syntax.block(more)
    at = block.index(more)
    less = block[at - 1] if at else None
    if not isinstance(more.op, ast.Add) or not isinstance(less, ast.AugAssign):
        return None
    is_same = isinstance(less.op, ast.Mult) and ast.unparse(less.target) == ast.unparse(more.target)
    return less if is_same else None


def changed(draft: Draft) -> Iterator[Change]:
    """The same of `shadow[name] -= 0.01 * (shadow[name] - weight)`."""
    for statement in draft.syntax.every(ast.AugAssign):
        if isinstance(statement.op, (ast.Add, ast.Sub)) and _lessened_before(draft, statement) is None:
            value, kept = named(draft, statement.value), ast.unparse(statement.target)
            if isinstance(value, ast.BinOp) and _has_weights(draft, list(leaves(value)), kept):
                yield kept, value, isinstance(statement.op, ast.Add), statement


def leaves(e: ast.expr) -> Iterator[ast.expr]:
    """What a sum, a product or a difference is made of. What is divided by a number that changes is no mixture of two, but a
    mean over all steps, which is the same of fewer."""
    if not isinstance(e, ast.BinOp):
        yield e
    elif not isinstance(e.op, ast.Div) or isinstance(e.right, ast.Constant):
        yield from leaves(e.left)
        yield from leaves(e.right)


def _has_weights(draft: Draft, parts: list[ast.expr], kept: str) -> bool:
    """Whether weights are among some operands, beside what is kept."""
    return any(not stands_for(draft, e, kept) and _is_weights(draft, _bare(draft, e)) for e in parts)


def _bare(draft: Draft, e: ast.expr) -> ast.expr:
    """`w` of `K.get_value(w)`, `w.numpy()`, `np.array(w)`, `w.value`; `weights` of `weights[i]`."""
    e = named(draft, e)
    while True:
        inner = within(draft.names.last(e.func), e) if isinstance(e, ast.Call) else None
        if isinstance(e, ast.Subscript) or isinstance(e, ast.Attribute) and e.attr == "value":
            inner = e.value
        elif isinstance(e, ast.Call) and inner is None:
            inner = _copied(draft, e)
        if inner is None:
            return e
        e = inner


def _copied(draft: Draft, call: ast.Call) -> ast.expr | None:
    """`w` of `np.array(w)`, `w.copy()`"""
    if draft.names.last(call.func) not in _ARRAYS:
        return None
    if len(call.args) == 1:
        return call.args[0]
    return call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None


def _is_weights(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is a model's weights: not what is computed from them, as gradients are."""
    return any(_gives_weights(draft, o.node) for o in draft.values.origins(e))


def _gives_weights(draft: Draft, n: ast.AST) -> bool:
    match n:
        case ast.Attribute():
            return n.attr in WEIGHTS
        case ast.ListComp(elt=elt, generators=[ast.comprehension(target=ast.Name(id=name), iter=of)]):
            each = _bare(draft, elt)
            return isinstance(each, ast.Name) and each.id == name and _is_weights(draft, of)
        case ast.Call(func=func, args=[of]) if draft.names.last(func) in _COPYING:
            return _is_weights(draft, of)
        case ast.Call():
            return draft.names.last(n.func) == "get_weights"
    return False


__all__ = ["WEIGHTS", "Change", "changed", "kept_lists", "leaves", "set_in_two", "set_items"]
