"""A statement becomes the body of a function, with every other byte left as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guards
from horovodize.source import Edit, Move, Span

_FIRST = -95  # before all that other rules put before the statement, after the head
_LAST = -3


def can_be_a_body(draft: Draft, statement: ast.stmt) -> bool:
    """Whether a statement has lines of its own, that can be moved one step to the right."""
    if not draft.can_insert(statement) or not Guards(draft).can_indent(statement, statement):
        return False
    moves = (e for c in draft.changes for e in c.edits if isinstance(e, Move))
    span = draft.module.span(statement)
    return not any(e.span in span or span.start <= e.target <= span.end for e in moves)


def into_function(
    draft: Draft,
    statement: ast.stmt,
    before: Sequence[str],
    head: Sequence[str],
    inside: Sequence[Edit],
    tail: Sequence[str],
    after: Sequence[str],
) -> list[Edit | Move]:
    """`before`, the lines of `head`, and in their body the statement with the edits `inside` it, and the lines of `tail`; then
    `after`. What other rules have put before and into the statement is moved to the right with it."""
    guards, index = Guards(draft), draft.document.lines
    indent = draft.document.indentation(statement)
    unit, line_end = guards.step(statement) or draft.unit, draft.newline
    span = draft.module.span(statement)
    end = _end(draft, statement)

    def moved(edit: Edit | Move) -> Edit | Move:
        return _moved_right(edit, span.start, end, indent, unit, line_end)

    draft.changes = [replace(c, edits=tuple(map(moved, c.edits))) for c in draft.changes]
    apart = [""] if indent else ["", ""]
    opening = [*before, *apart, *head]
    text = (
        "".join(_line(line, indent if i else "", unit) + line_end for i, line in enumerate(opening))
        + indent
        + unit
    )
    edits = [*map(moved, inside), Edit.insert(span.start, text, Span(span.start, end), _FIRST)]
    last = statement.end_lineno or statement.lineno
    for line in range(statement.lineno, last):  # from 0: the lines after the first
        offset = guards._indentable(line, indent)
        if offset is not None:
            edits.append(Edit.insert(offset, unit, None, 1000))
    closing = [*(f"    {line}" for line in tail), *apart, *after]
    text = "".join(line_end + _line(line, indent, unit) for line in closing)
    assert end == index.starts[last - 1] + len(index.content(last - 1))
    edits.append(Edit.insert(end, text, None, _LAST - 10 * len(indent)))
    return edits


def _end(draft: Draft, statement: ast.stmt) -> int:
    index, line = draft.document.lines, (statement.end_lineno or statement.lineno) - 1
    return index.starts[line] + len(index.content(line))


def _line(line: str, indent: str, unit: str) -> str:
    """A line that is written with four spaces a step, in the document's own steps."""
    depth = (len(line) - len(line.lstrip(" "))) // 4
    return indent + unit * depth + line.lstrip(" ") if line else ""


def _moved_right(
    edit: Edit | Move, start: int, end: int, indent: str, unit: str, line_end: str
) -> Edit | Move:
    if not isinstance(edit, Edit) or not start <= edit.span.start <= end or line_end not in edit.new_text:
        return edit
    if edit.span.start == end and edit.new_text.startswith(line_end):
        lead = edit.new_text[len(line_end) :]
        if len(lead) - len(lead.lstrip(" \t")) <= len(indent):
            return edit  # it comes after the statement, outside
    return replace(edit, new_text=re.sub(rf"{line_end}(?!\r?\n)", line_end + unit, edit.new_text))


__all__ = ["can_be_a_body", "into_function"]
