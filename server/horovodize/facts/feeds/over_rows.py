"""What a value is over the rows of a step, and what becomes of it: added, combined by elements, reduced along an axis."""

from __future__ import annotations

import ast
from enum import Enum

from horovodize.python.syntax import argument, says_none


class Over(Enum):
    """What a value is over the rows of a step."""

    NONE = "without rows"
    ROWS = "a value, or several, for each row"
    VECTOR = "one value for each row"
    COUNT = "the number of rows"
    MEAN = "a mean"
    SUM = "a sum"
    SUM_AND_MORE = "a sum beside something else"
    UNKNOWN = "not known"
    COUPLED = "joins rows with each other"


_WEIGHT = {over: (over is not Over.NONE) + (over not in (Over.NONE, Over.COUNT)) for over in Over}


def same(found: list[Over]) -> Over:
    """What a value is that may be one of several."""
    kinds = set(found) - {Over.NONE} if len(set(found)) > 1 else set(found)
    if not kinds:
        return Over.NONE
    if Over.COUPLED in kinds:
        return Over.COUPLED
    if kinds == {Over.ROWS, Over.VECTOR}:
        return Over.ROWS
    return kinds.pop() if len(kinds) == 1 else Over.UNKNOWN


def added(found: list[Over]) -> Over:
    """What a sum of several values is."""
    kinds = _with_rows(found)
    return kinds.pop() if len(kinds) == 1 else elementwise(found)


def elementwise(found: list[Over]) -> Over:
    """What a function of several values is that goes by elements."""
    kinds = _with_rows(found)
    if not kinds:
        return Over.NONE
    if Over.COUPLED in kinds:
        return Over.COUPLED
    if kinds <= {Over.ROWS, Over.VECTOR}:
        return Over.ROWS if Over.ROWS in kinds else Over.VECTOR
    return Over.UNKNOWN


def _with_rows(found: list[Over]) -> set[Over]:
    return set(found) - {Over.NONE, Over.COUNT}


def heaviest(found: list[Over]) -> Over:
    """Of several values that make one, what the one is that has the most to do with rows."""
    return max(found, key=_WEIGHT.__getitem__, default=Over.NONE)


def reduced(inner: Over, call: ast.Call, mean: bool) -> Over:
    """What a sum or a mean gives, by the axes that it goes along: rows are along the first."""
    if inner not in (Over.ROWS, Over.VECTOR):
        return inner
    whole = Over.MEAN if mean else Over.SUM
    axis = argument(call, "axis", 1) or argument(call, "reduction_indices")
    if axis is None or says_none(axis):
        return whole
    numbers = _numbers(axis)
    if numbers is None:
        return Over.UNKNOWN
    if 0 in numbers:
        return whole
    if inner is Over.VECTOR and -1 in numbers:
        return whole
    return Over.VECTOR if len(numbers) == 1 and numbers[0] in (1, -1) else Over.ROWS


def _numbers(axis: ast.expr) -> list[int] | None:
    items = axis.elts if isinstance(axis, (ast.List, ast.Tuple)) else [axis]
    found = []
    for item in items:
        try:
            value = ast.literal_eval(item)
        except ValueError:
            return None
        if not isinstance(value, int):
            return None
        found.append(value)
    return found


def axis_of(call: ast.Call) -> int | None:
    """The axis that a call goes along, of several the first; None where it is not told, or not written out."""
    axis = argument(call, "axis") or argument(call, "axes")
    numbers = _numbers(axis) if axis is not None else None
    return min(numbers, key=abs) if numbers else None


def flips(call: ast.Call) -> bool:
    """Whether a `transpose` moves the first axis."""
    order = argument(call, "perm", 1)
    numbers = _numbers(order) if order is not None else None
    return not numbers or numbers[0] != 0
