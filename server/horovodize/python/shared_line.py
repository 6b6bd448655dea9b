"""Statements that share a line: `a; b`, `for x in data: step(x)`."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass

from horovodize.python.module import Module
from horovodize.source import Span


@dataclass(frozen=True)
class SharedLine:
    """The statements of a line, and how they can be put on lines of their own.

    statements   the line's, in their order, all of one block
    gaps         what stands between them, and before the first one if that follows a header: each becomes the start of a line
    is_suite     whether they follow the header of an `if`, a loop … on its line, and are to be indented below it"""

    statements: tuple[ast.stmt, ...]
    gaps: tuple[Span, ...]
    is_suite: bool


def shared_line(module: Module, statement: ast.stmt) -> SharedLine | None:
    """The line of a statement, with what else stands on it; None where it can't be parted: it goes on after a backslash."""
    block, text = module.syntax.block(statement), module.document.text
    first = last = block.index(statement)
    while first and block[first - 1].end_lineno == block[first].lineno:
        first -= 1
    while last + 1 < len(block) and block[last + 1].lineno == block[last].end_lineno:
        last += 1
    statements = tuple(block[first : last + 1])
    spans = [module.span(s) for s in statements]
    is_suite = not module.document.starts_line(statements[0])
    gaps = []
    if is_suite:
        colon = len(text[: spans[0].start].rstrip(" \t"))
        if text[colon - 1 : colon] != ":" or isinstance(
            statements[0], ast.If
        ):  # an `elif` is an `if` in an `else`
            return None
        gaps.append(Span(colon, spans[0].start))
    gaps += [Span(one.end, other.start) for one, other in itertools.pairwise(spans)]
    if goes_on(module, statements[-1]) or any(
        text[gap.start : gap.end].strip(" \t") not in ("", ";") for gap in gaps
    ):
        return None
    return SharedLine(statements, tuple(gaps), is_suite)


def goes_on(module: Module, statement: ast.stmt) -> bool:
    """Whether a backslash joins the line on which a statement ends with the next."""
    return module.document.lines.content((statement.end_lineno or statement.lineno) - 1).endswith("\\")
