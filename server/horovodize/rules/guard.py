"""Putting statements under `if hvd.rank() == 0:`, by indenting them where they stand."""

from __future__ import annotations

import ast

from horovodize.rules.draft import ON_ROOT, Draft
from horovodize.source import Edit, Span


def guard(draft: Draft, statements: list[ast.stmt], condition: str = ON_ROOT) -> list[Edit]:
    """Edits that put consecutive statements of one block, and the comments between them, under a condition.

    Lines that begin inside a string literal stay where they are: indenting them would change the string."""
    first, last = statements[0], statements[-1]
    indent = draft.document.indentation(first)
    index = draft.document.lines
    top, bottom = draft.first_line(first) - 1, (last.end_lineno or last.lineno) - 1
    start = index.starts[top] + len(indent)
    whole = Span(start, draft.module.span(last).end)
    edits = [Edit.insert(start, f"if {condition}:{draft.newline}{indent}{draft.unit}", whole)]
    within = lines_inside_strings(statements)
    for line in range(top + 1, bottom + 1):
        if line not in within and index.content(line).strip():
            edits.append(
                Edit.insert(index.starts[line], draft.unit, Span(index.starts[line], index.starts[line]))
            )
    return edits


def lines_inside_strings(statements: list[ast.stmt]) -> set[int]:
    """The lines (from 0) that begin inside a string literal."""
    return {
        line
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and _is_text(node)
        for line in range(node.lineno, node.end_lineno or node.lineno)
    }


def _is_text(node: ast.Constant | ast.JoinedStr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(node.value, (str, bytes))
