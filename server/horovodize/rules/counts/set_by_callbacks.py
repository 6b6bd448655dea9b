"""Fields and items that callbacks, or loops, set while training goes on: the rate of a `Dropout` layer, a weight that the model
holds, how strongly a data set changes its rows. Part of G5.

    self.layer.rate = 0.5 * (1 - self.seen / self.total)
    self.dataset.strength = min(1.0, self.seen / 1000)

goes by how much has been seen, as a weight of the loss does (`annealing`): the formula is told the steps of all ranks. So are
those that callbacks compute on their way to what they do (`sparsity = (self.step - begin) / (end - begin)`).
`self.layer.rate *= 0.99` with each batch changes as size() batches changed it (`decays`). What is computed of the rows
themselves, or of the time, is a mean or a measure of this rank, and stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from horovodize.python.syntax import CALLABLES, FUNCTIONS, arguments
from horovodize.rules.callbacks.callback_decisions import is_rate
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, decays, with_each_step
from horovodize.rules.numbers.number_settings import Setting, going_on
from horovodize.rules.numbers.shares import feeding

_Tell: TypeAlias = Callable[[ast.expr, Callable[[ast.expr], bool]], None]
_DEEP = 4  # functions that call each other on the way to where something is set


def apply(draft: Draft, tell: _Tell) -> None:
    """`tell`: tells the formulas in a value the steps of all ranks, but where what reads them stays."""
    if draft.in_graph or not draft.divided:
        return
    for node in list(_run(draft, [h.function for h in draft.facts.hooks.all])):
        for value in _given(node):
            if not draft.uniform.of_values.varies(value):
                tell(value, lambda read: _is_of_this_rank(draft, read))
        _follow(draft, node, tell)
    loops = [d.loop for d in feeding(draft).drivers if counted.is_divided(draft, d)]
    for node in list(_run(draft, [s for loop in loops for s in loop.body])):
        _follow(draft, node, tell)


def _follow(draft: Draft, node: ast.AST, tell: _Tell) -> None:
    for setting in _set_at(draft, node):
        if not draft.uniform.of_values.varies(setting.value):
            tell(setting.value, lambda read: _is_of_this_rank(draft, read))
            if _goes_on(draft, setting):
                decays.follow(draft, setting.value, setting, rule="G5")


def _run(draft: Draft, roots: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """What stands in some functions or statements, and in the functions that these call."""
    seen = set[ast.AST]()
    todo: list[tuple[ast.AST, int]] = [(root, 0) for root in roots]
    while todo:
        root, depth = todo.pop(0)
        if root in seen:
            continue
        seen.add(root)
        home = root if isinstance(root, CALLABLES) else draft.syntax.function(root)
        for node in ast.walk(root):
            if next((a for a in draft.syntax.ancestors(node) if isinstance(a, CALLABLES)), None) is not home:
                continue
            yield node
            callee = draft.values.callee(node) if isinstance(node, ast.Call) and depth < _DEEP else None
            if isinstance(callee, FUNCTIONS) and draft.facts.hooks.of(callee) is None:
                todo.append((callee, depth + 1))


def _given(node: ast.AST) -> list[ast.expr]:
    """The values that a statement sets something to, gives back, or hands to a call."""
    match node:
        case ast.Assign(value=value) | ast.Return(value=ast.expr() as value):
            return [value]
        case ast.Expr(value=ast.Call() as call):
            return [a for a in arguments(call) if not isinstance(a, ast.Starred)]
    return []


def _set_at(draft: Draft, node: ast.AST) -> Iterator[Setting]:
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from (Setting(node, kept, value) for kept in targets if _is_kept(draft, kept))
        case ast.AugAssign(target=kept, op=operator, value=value) if _is_kept(draft, kept):
            yield replace(going_on(node, kept, value, operator), is_scaled=False)
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), value]):
            made = ast.copy_location(ast.Attribute(owner, name, ast.Store()), node)
            if not is_rate(draft, made):
                yield Setting(node, made, value)


def _is_kept(draft: Draft, kept: ast.expr) -> bool:
    """Whether something is a field, or an item of a certain name; an optimizer's rate is looked at by itself (C5)."""
    if isinstance(kept, ast.Attribute):
        return not is_rate(draft, kept)
    return isinstance(kept, ast.Subscript) and isinstance(kept.slice, ast.Constant)


def _goes_on(draft: Draft, setting: Setting) -> bool:
    """Whether a number is changed a little with each batch: neither a count, nor a sign that turns."""
    hook = draft.facts.hooks.around(setting.place)
    if hook is not None and not hook.is_of_batches or hook is None and _is_own(setting.kept):
        return False
    if not isinstance(setting.kept, ast.Attribute) or _is_count(draft, setting.kept):
        return False
    again = (n for n in ast.walk(setting.value) if isinstance(n, ast.Attribute))
    if not isinstance(setting.place, ast.AugAssign) and ast.unparse(setting.kept) not in map(
        ast.unparse, again
    ):
        return False
    if not with_each_step.is_by_step(draft, setting.place, setting.kept):
        return False
    return not any(
        isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub) and isinstance(n.operand, ast.Constant)
        for n in ast.walk(setting.value)
    )


def _is_count(draft: Draft, kept: ast.Attribute) -> bool:
    """Whether a field counts steps, or rows, where it is read."""
    text = ast.unparse(kept)
    reads = (
        n for n in draft.syntax.every(ast.Attribute) if isinstance(n.ctx, ast.Load) and n.attr == kept.attr
    )
    return any(ast.unparse(n) == text and draft.facts.counters.of(n) is not None for n in reads)


def _is_own(kept: ast.expr) -> bool:
    """`self.temperature` of what trains by a loop of its own, which is looked at where it is used."""
    return isinstance(kept, ast.Attribute) and isinstance(kept.value, ast.Name) and kept.value.id == "self"


def _is_of_this_rank(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is read for a share of what this rank counted, `self.skipped / self.seen`, or for how far an average of
    its own has come, `self.mean / (1 - self.beta ** self.seen)`."""
    for around in draft.syntax.ancestors(read):
        if isinstance(around, ast.stmt):
            break
        if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Div):
            if _is_counted(draft, around.left) and _is_counted(draft, around.right):
                return True
        if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Pow):
            if _is_decay(draft, around.left):
                return True
    return False


def _is_decay(draft: Draft, base: ast.expr) -> bool:
    """Whether something is the decay of an average: `beta` of `mean = beta * mean + (1 - beta) * loss`."""
    text = ast.unparse(base)
    for n in draft.syntax.every(ast.BinOp):
        match n:
            case ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Sub(), right=right) if (
                ast.unparse(right) == text and right is not base
            ):
                return True
    return False


def _is_counted(draft: Draft, side: ast.expr) -> bool:
    parts = [n for n in ast.walk(side) if isinstance(n, (ast.Name, ast.Attribute))]
    return any(b.kind == "augment" for n in parts for b in draft.values.bindings(n))


__all__ = ["apply"]
