"""Where numbers are set: names and fields, items of a dictionary, and what a function gives back for what it was handed.
Part of C5 and G5."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from horovodize.python.binding import Binding
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import walk

SET_VALUE = "tensorflow.keras.backend.set_value"


@dataclass(frozen=True, eq=False)
class Setting:
    """A place where a value is set.

    place      where that happens
    kept       what is set
    value      what it is set to; of `kept *= value`, what it is changed by
    binds      the binding that it is; None where it sets an attribute of an optimizer, or a variable
    is_scaled  whether it is made of an optimizer's rate, which is multiplied by the number of ranks already"""

    place: ast.AST
    kept: ast.expr
    value: ast.expr
    binds: Binding | None = None
    is_scaled: bool = False


def going_on(place: ast.AST, kept: ast.expr, by: ast.expr, operator: ast.operator) -> Setting:
    """`optimizer.lr *= 0.99`, `rate.assign_sub(1e-5)`: where the optimizer's own rate is changed by something."""
    return Setting(
        place, kept, by, Binding("augment", "", place, kept, by, operator=operator), is_scaled=True
    )


def of_item(draft: Draft, read: ast.Subscript) -> Iterator[Setting]:
    """The places that make an item of its last value, `state["heat"] *= 0.99`, also in functions that are handed what holds
    it; none where something else that training comes to sets it, too."""
    if not isinstance(read.slice, ast.Constant):
        return
    found = [
        s
        for s in draft.syntax.every(ast.Assign, ast.AugAssign)
        if any(draft.facts.counters.is_same_item(read, t) for t in _targets(s))
    ]
    again = [s for s in found if draft.facts.occasions.counted_at(s) is not None]
    if len(again) != 1:
        return
    match again[0]:
        case ast.AugAssign(target=target, op=operator, value=value) as s:
            yield replace(going_on(s, target, value, operator), is_scaled=False)
        case ast.Assign(targets=[target], value=value) as s:
            yield Setting(s, target, value)


def given_back(draft: Draft, b: Binding) -> Iterator[Setting]:
    """`return step + 1, heat * 0.99` of a function that sets `step, heat = tick(step, heat)`: what `heat` goes on by."""
    for name, value in draft.facts.counters.given_back(b):
        last = next((n for n in walk(value) if isinstance(n, ast.Name) and n.id == name), None)
        if last is not None:
            yield Setting(value, last, value)


def of_variables(draft: Draft) -> Iterator[Setting]:
    """Where something sets a variable to a value, or changes it by one."""
    for call in draft.module.calls_of(SET_VALUE):
        if len(call.args) == 2:
            yield Setting(call, call.args[0], call.args[1])
    for call in draft.sites.method_calls("assign", "assign_add", "assign_sub"):
        if not (isinstance(call.func, ast.Attribute) and call.args):
            continue
        kept, value = call.func.value, call.args[0]
        if call.func.attr == "assign":
            yield Setting(call, kept, value)
        else:
            operator = ast.Add() if call.func.attr == "assign_add" else ast.Sub()
            yield replace(going_on(call, kept, value, operator), is_scaled=False)


def _targets(s: ast.AST) -> list[ast.expr]:
    if isinstance(s, ast.AugAssign):
        return [s.target]
    return s.targets if isinstance(s, ast.Assign) else []


__all__ = ["SET_VALUE", "Setting", "given_back", "going_on", "of_item", "of_variables"]
