"""Decisions by an optimizer's own rate, which is multiplied by the number of ranks: part of C5.

`if optimizer.learning_rate < 1e-6: break` compares what is size() times larger now; so is what it is compared with.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from horovodize.rules import decays
from horovodize.rules.draft import Draft

_WHAT = "Multiply what the rate is compared with by the number of ranks"
_WHY = "This is the optimizer's own rate, which is multiplied by the number of ranks already."


def scale_comparisons(draft: Draft, is_rate: Callable[[Draft, ast.expr], bool]) -> None:
    """Multiplies the numbers that a rate is compared with.

    is_rate: whether an expression is a rate that is multiplied already"""
    for test in draft.syntax.every(ast.Compare) if draft.growth else ():
        if not all(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in test.ops):
            continue
        sides = [test.left, *test.comparators]
        own = [side for side in sides if is_rate(draft, decays.read(draft, side))]
        for side in sides if own else ():
            is_zero = isinstance(side, ast.Constant) and side.value == 0
            made_of = draft.values.depends([side], 400)
            relative = any(isinstance(n, (ast.Name, ast.Attribute)) and is_rate(draft, n) for n in made_of)
            if side not in draft.done and not is_zero and not relative:
                draft.done.add(side)
                draft.change("C5", side, _WHAT, _WHY, draft.times(side, draft.growth))
