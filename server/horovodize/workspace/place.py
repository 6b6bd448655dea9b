"""Places in files, in every unit that an editor may count in: an index is made before it is known, and outlives, who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from horovodize.source import Document, PositionEncoding, Span


class Mark(NamedTuple):
    """A position: `line` from 0, and its column from 0 in bytes of UTF-8, units of UTF-16, and characters."""

    line: int
    utf8: int
    utf16: int
    utf32: int

    def column(self, encoding: PositionEncoding) -> int:
        """The column in the unit of an encoding."""
        return {
            PositionEncoding.UTF8: self.utf8,
            PositionEncoding.UTF16: self.utf16,
            PositionEncoding.UTF32: self.utf32,
        }[encoding]


@dataclass(frozen=True)
class Place:
    """A stretch of a file. `file`: its path; "" is the file that the summary with this place is of."""

    file: str
    start: Mark
    end: Mark

    def to_json(self) -> list[Any]:
        return [self.file, *self.start, *self.end]

    @staticmethod
    def from_json(data: list[Any]) -> Place:
        """Raises TypeError and ValueError for what `to_json` did not make."""
        file, *numbers = data
        if not isinstance(file, str) or len(numbers) != 8 or not all(isinstance(n, int) for n in numbers):
            raise ValueError("not a place")
        return Place(file, Mark(*numbers[:4]), Mark(*numbers[4:]))


def place_in(document: Document, span: Span, file: str = "") -> Place:
    """The place of a span of a document."""
    return Place(file, mark_in(document, span.start), mark_in(document, span.end))


def mark_in(document: Document, offset: int) -> Mark:
    """The position of an offset in a document."""
    line = document.lines.line_of(offset)
    before = document.text[document.lines.starts[line] : offset]
    if before.isascii():
        return Mark(line, len(before), len(before), len(before))
    wide = len(before.encode("utf-16-le", "surrogatepass")) // 2
    return Mark(line, len(before.encode("utf-8", "surrogatepass")), wide, len(before))
