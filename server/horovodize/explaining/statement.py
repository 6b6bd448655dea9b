"""The statement at a place: all of a simple one, the header of one that holds others."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.source import Document, Span


def statement_at(document: Document, offset: int) -> Span | None:
    """The innermost statement that holds an offset; None outside of all and while the document does not
    parse."""
    tree = document.tree_at(offset)
    if tree is None:
        return None
    line = document.lines.line_of(offset) + 1
    found: ast.stmt | None = None
    node: ast.AST | None = tree
    while node is not None:
        inner = next((child for child in _statements(node) if _holds(child, line, document, offset)), None)
        found, node = inner or found, inner
    return header(document, found) if found is not None else None


def header(document: Document, statement: ast.stmt) -> Span:
    """A statement's span, up to its body if it has one."""
    span = document.span(statement)
    body = getattr(statement, "body", None)
    if not body or not isinstance(body, list):
        return span
    start = document.span(body[0]).start
    return Span(span.start, span.start + len(document.text[span.start : start].rstrip()))


def _holds(statement: ast.stmt, line: int, document: Document, offset: int) -> bool:
    if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
        return False
    span = document.span(statement)
    return span.start <= offset <= span.end


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        children = getattr(node, name, None)
        for child in children if isinstance(children, list) else ():
            if isinstance(child, ast.stmt):
                yield child
            else:  # an except or case clause: its statements are the next ones inside
                yield from _statements(child)
