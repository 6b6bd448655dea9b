"""Where things are: offsets, lines and columns, in every unit that is spoken here.

Three worlds count differently. `ast` counts lines from 1 and columns in UTF-8 bytes; LSP counts lines from 0 and columns
in whatever unit was negotiated (UTF-16 unless told otherwise); everything in Horovodize is an *offset*: code points from
the start of the text. A line ends at "\\n", "\\r\\n" or "\\r" and nowhere else: `str.splitlines` also ends lines at form
feeds and U+2028, which neither Python nor editors do.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum

_LINE_END = re.compile(r"\r\n|\r|\n")


class PositionEncoding(str, Enum):
    """The unit of LSP columns, by its name in the protocol."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of text: offsets in code points, `end` exclusive."""

    start: int
    end: int

    def __contains__(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Whether they share a character, or touch where one of them is empty."""
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, order=True)
class Position:
    """An LSP position: `line` from 0, `character` from 0 in the unit that was asked for."""

    line: int
    character: int


class LineIndex:
    """The lines of a text, and conversions between the ways of counting."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def of(self, text: str, since: int, until: int) -> LineIndex:
        """The lines of another text, which differs from this one only between two offsets of this one."""
        grown = len(text) - len(self.text)
        first = bisect_right(self.starts, max(since - 1, 0))  # "\r" and "\n" may have met, or parted
        last = bisect_right(self.starts, until + 1)
        end = self.starts[last] + grown if last < len(self.starts) else len(text)
        index = LineIndex.__new__(LineIndex)
        index.text = text
        index.starts = self.starts[:first]
        index.starts += [match.end() for match in _LINE_END.finditer(text, self.starts[first - 1], end)]
        index.starts += [start + grown for start in self.starts[last + 1 :]]
        return index

    def __len__(self) -> int:
        return len(self.starts)

    def line_of(self, offset: int) -> int:
        """The line (from 0) that holds an offset."""
        return bisect_right(self.starts, offset) - 1

    def span(self, line: int) -> Span:
        """A line (from 0) with its line end."""
        start = self.starts[line]
        return Span(start, self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text))

    def content(self, line: int) -> str:
        """A line (from 0) without its line end."""
        span = self.span(line)
        return self.text[span.start : span.end].rstrip("\r\n")

    def offset_of_utf8(self, lineno: int, column: int) -> int:
        """The offset of an `ast` position: line from 1, column in UTF-8 bytes."""
        start = self.starts[lineno - 1]
        if column == 0:
            return start
        end = start + column  # right whenever the line is ASCII up to there: a byte a character
        head = self.text[start:end]
        if head.isascii():
            return end
        return start + len(head.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))

    def node_span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias) -> Span:
        """The span of an `ast` node of this text (decorators not included)."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return Span(
            self.offset_of_utf8(node.lineno, node.col_offset),
            self.offset_of_utf8(node.end_lineno, node.end_col_offset),
        )

    def position(self, offset: int, encoding: PositionEncoding = PositionEncoding.UTF16) -> Position:
        """The LSP position of an offset; offsets outside the text are clamped."""
        offset = min(max(offset, 0), len(self.text))
        line = self.line_of(offset)
        return Position(line, _units(self.text[self.starts[line] : offset], encoding))

    def offset(self, position: Position, encoding: PositionEncoding = PositionEncoding.UTF16) -> int:
        """The offset of an LSP position. As the protocol says, a column beyond the line's end means the line's end; a line
        beyond the text means the text's end; a column inside a character means its start."""
        if position.line < 0:
            return 0
        if position.line >= len(self.starts):
            return len(self.text)
        start = self.starts[position.line]
        content = self.content(position.line)
        wanted = max(position.character, 0)
        if encoding is PositionEncoding.UTF32 or content.isascii():
            return start + min(wanted, len(content))
        count = 0
        for i, character in enumerate(content):
            count += _units(character, encoding)
            if count > wanted:
                return start + i
        return start + len(content)


def _units(text: str, encoding: PositionEncoding) -> int:
    if encoding is PositionEncoding.UTF32 or text.isascii():
        return len(text)
    if encoding is PositionEncoding.UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
