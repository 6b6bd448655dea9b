"""Events inside events: part of G5.

`if i % 50 == 0:` and in it `if i % 1000 == 0:` happen together every 1000 steps. Each divided by itself, 12 and 250 on 4 ranks,
they meet every 1500 steps: the inner number has to stay a multiple of the outer one.
"""

from __future__ import annotations

import ast

from horovodize.rules import counted
from horovodize.rules.draft import Draft


def outer(draft: Draft, test: ast.AST, count: ast.expr) -> ast.expr | None:
    """The `50` of `if i % 50 == 0:` around an event that goes by the same count; None where there is none."""
    inner = draft.syntax.statement(test)
    for decision, _ in draft.syntax.conditions(inner):
        for n in ast.walk(decision.test):
            if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) and ast.dump(n.left) == ast.dump(count):
                return n.right
    return None


def multiple(draft: Draft, around: ast.expr, number: ast.expr) -> str | None:
    """`20 * max(1, 50 // hvd.size())` for 1000 in an event every 50 steps; None where it is no multiple, or not known."""
    constant = draft.facts.feeding.kinds.constant
    every, times = constant(around), constant(number)
    if every is None or times is None or every < 1 or times % every or times == every:
        return None
    return f"{times // every} * {counted.text_over_ranks(draft, around)}"
