"""A new version of a text, of which only the top-level statements that a change touches are parsed again.

The text from the first column of one top-level statement to that of another one means by itself what it means in the whole:
no bracket, string or block is open at either end. So it can be parsed by itself. Where that fails (a string was opened that
ends further down, an `else` lost its `if`), the whole has to be parsed."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_left, bisect_right

from horovodize.source.annotations import without_annotations
from horovodize.source.lines import LineIndex
from horovodize.source.outline import Outline, Replaced


def reparse(outline: Outline, old: LineIndex, new: LineIndex) -> Replaced | None:
    """Makes the outline of a text, of one tree, that of another text. None, and nothing is changed, where all of the other
    text has to be parsed."""
    (tree,) = outline.trees
    starts = begins(tree, old)
    since, until = difference(old.text, new.text)
    # the statements that the change touches, or that begin or end where it does
    start = max(bisect_left(starts, since) - 1, 0)
    end = bisect_right(starts, until)
    while start and starts[start] == starts[start - 1]:
        start -= 1
    at = starts[start] if start else 0
    behind = len(new.text) - (len(old.text) - starts[end] if end < len(starts) else 0)
    statements = _parse(new.text[at:behind], new.line_of(at))
    if statements is None:
        return None
    return outline.replace(start, end, statements, len(new) - len(old))


def difference(old: str, new: str) -> tuple[int, int]:
    """Where in an old text a new one begins to differ, and where that ends."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old.startswith(new[low:middle], low):
            low = middle
        else:
            high = middle - 1
    since, high = low, min(len(old), len(new)) - low
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if old.endswith(new[len(new) - middle : len(new) - low], 0, len(old) - low):
            low = middle
        else:
            high = middle - 1
    return since, len(old) - low


def begins(tree: ast.Module, lines: LineIndex) -> list[int]:
    """Where the statements of a module begin, their decorators included. One that does not begin at the first column of a
    line of its own (`a; b`, a form feed before it) counts as part of the one before it."""
    text = lines.text
    found: list[int] = []
    for statement in tree.body:
        first: ast.stmt | ast.expr = statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = statement.decorator_list[0] if statement.decorator_list else statement
        begin = lines.starts[first.lineno - 1]
        if first is statement and statement.col_offset == 0:
            own = True
        else:  # an expression after "@", which may be in parentheses
            own = first is not statement and text.startswith("@", begin)
        continued = text.endswith(("\\\n", "\\\r", "\\\r\n"), 0, begin)
        found.append(begin if own and not continued else found[-1] if found else 0)
    return found


def _parse(text: str, lines_before: int) -> list[ast.stmt] | None:
    """The statements of a text that begins after some lines; None where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return without_annotations(text, ast.parse("\n" * lines_before + text).body)
    except (SyntaxError, RecursionError, ValueError, MemoryError):
        return None
