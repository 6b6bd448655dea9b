"""Fields and items that callbacks set while training goes on: the rate of a `Dropout` layer, a weight that the model holds, how
strongly a data set changes its rows. Part of G5.

    self.layer.rate = 0.5 * (1 - self.seen / self.total)
    self.dataset.strength = min(1.0, self.seen / 1000)

goes by how much has been seen, as a weight of the loss does (`annealing`): the formula is told the steps of all ranks.
`self.layer.rate *= 0.99` with each batch changes as size() batches changed it (`decays`). What is computed of the rows
themselves, or of the time, is a mean or a measure of this rank, and stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from horovodize.rules import counted, decays
from horovodize.rules.callback_decisions import is_rate
from horovodize.rules.draft import Draft
from horovodize.rules.number_settings import Setting, going_on
from horovodize.summary.syntax import CALLABLES, FUNCTIONS

_DEEP = 4  # functions that call each other on the way to where something is set


def apply(draft: Draft, tell: Callable[[Draft, ast.expr], None]) -> None:
    """`tell`: tells the formulas in a value the steps of all ranks."""
    if draft.in_graph or not draft.divided:
        return
    for setting in _settings(draft):
        if draft.uniform.of_values.varies(setting.value):
            continue
        if not _is_ratio_of_counts(draft, setting.value):
            tell(draft, setting.value)
        if _goes_on(draft, setting):
            decays.follow(draft, setting.value, setting, rule="G5")


def _settings(draft: Draft) -> Iterator[Setting]:
    """What callbacks set, and the functions that they call."""
    seen = set[ast.AST]()
    todo: list[tuple[ast.AST, int]] = [(h.function, 0) for h in draft.facts.hooks.all]
    while todo:
        function, depth = todo.pop(0)
        if function in seen:
            continue
        seen.add(function)
        for node in ast.walk(function):
            if (
                next((a for a in draft.syntax.ancestors(node) if isinstance(a, CALLABLES)), None)
                is not function
            ):
                continue
            yield from _set_at(draft, node)
            callee = draft.values.callee(node) if isinstance(node, ast.Call) and depth < _DEEP else None
            if isinstance(callee, FUNCTIONS) and draft.facts.hooks.of(callee) is None:
                todo.append((callee, depth + 1))


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
    if hook is not None and not hook.is_of_batches:
        return False
    if draft.facts.counters.of(setting.kept) is not None or not isinstance(setting.kept, ast.Attribute):
        return False
    if not counted.is_by_step(draft, setting.place, setting.kept):
        return False
    return not any(
        isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub) and isinstance(n.operand, ast.Constant)
        for n in ast.walk(setting.value)
    )


def _is_ratio_of_counts(draft: Draft, value: ast.expr) -> bool:
    """Whether both sides of a quotient are counted on this rank: `self.rows / self.batches`, `self.skipped / self.seen`."""
    quotients = [n for n in ast.walk(value) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    return any(_is_counted(draft, n.left) and _is_counted(draft, n.right) for n in quotients)


def _is_counted(draft: Draft, side: ast.expr) -> bool:
    parts = [n for n in ast.walk(side) if isinstance(n, (ast.Name, ast.Attribute))]
    return any(b.kind == "augment" for n in parts for b in draft.values.bindings(n))


__all__ = ["apply"]
