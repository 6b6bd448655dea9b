"""Numbers that a program takes one after another, `n = next(numbers)` of `numbers = itertools.count()`: they count steps."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.occasions import Occasions
from horovodize.python.module import Module

_COUNT = "itertools.count"


def next_numbers(module: Module, occasions: Occasions) -> dict[ast.Call, Counter]:
    """The calls of `next` that give such a number, where it is asked for in one place, with what each counts."""
    asked: dict[ast.Call, list[ast.Call]] = {}
    for call in module.calls_called("next") if module.calls_of(_COUNT) else ():
        for made in module.values.calls(call.args[0]) if call.args else ():
            if module.names.of(made.func) == _COUNT and len(made.args) < 2 and not made.keywords:
                asked.setdefault(made, []).append(call)
    found = dict[ast.Call, Counter]()
    for made, calls in asked.items():
        at = occasions.counted_at(calls[0]) if len(calls) == 1 else None
        if at is not None and not occasions.are_seldom(calls[0], at[0]):
            found[calls[0]] = Counter(CounterKind.NUMBER, frozenset(at[0]), at[1], starts=tuple(made.args))
    return found


__all__ = ["next_numbers"]
