"""What an expression may be within a turn of the loops around a step."""

from __future__ import annotations

import ast
from enum import IntEnum

DEPTH = 80  # of expressions in each other: Python's own stack has an end
MOST = 10_000  # expressions, each in its contexts: what is not followed further is unseen


class Part(IntEnum):
    """What an expression is within a turn; of several parts the last one counts."""

    NUMBER = 0  # the same in every turn, and no rows: a number, a name, a function
    ROWS = 1  # the same in every turn: an array
    UNSEEN = 2
    TURN = 3  # counts turns
    COMPUTED = 4  # from weights or from what else the step computes
    DRAWN = 5  # drawn at random in the turn
    DEALT = 6  # selected, dealt out or iterated in the turn


def is_numbers(e: ast.expr) -> bool:
    """Whether a literal is made of numbers only, through all its lists."""
    if isinstance(e, (ast.List, ast.Tuple)):
        return all(is_numbers(x) for x in e.elts)
    if isinstance(e, ast.UnaryOp):
        return is_numbers(e.operand)
    return isinstance(e, ast.Constant) and isinstance(e.value, (int, float)) and not isinstance(e.value, str)
