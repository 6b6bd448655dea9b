"""An editor's buffer: keeps a text as the protocol says, without any code of the server's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

ENCODINGS = ("utf-8", "utf-16", "utf-32")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}  # and bytes a unit

Json = Any


class Buffer:
    """A text in which columns are counted in the units of an encoding."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self.encoding = encoding

    def position(self, offset: int) -> Json:
        """The position of an offset that does not lie between the halves of a line end."""
        before = re.split(r"\r\n|\r|\n", self.text[:offset])
        return {"line": len(before) - 1, "character": self._units(before[-1])}

    def offset(self, position: Json) -> int:
        """Where a position is. As the protocol says: beyond a line's end means its end, beyond the text the text's end; within
        a character we take its start."""
        lines = re.split(r"(\r\n|\r|\n)", self.text)
        contents, ends = lines[::2], [*lines[1::2], ""]
        if position["line"] >= len(contents):
            return len(self.text)
        start = sum(map(len, contents[: position["line"]])) + sum(map(len, ends[: position["line"]]))
        content = contents[position["line"]]
        fitting = (i for i in range(len(content) + 1) if self._units(content[:i]) <= position["character"])
        return start + max(fitting)

    def replace(self, start: Json, end: Json, new: str) -> Json:
        """Makes a change between two positions; the change as it is sent to the server."""
        first, last = sorted((self.offset(start), self.offset(end)))
        self.text = self.text[:first] + new + self.text[last:]
        return {"range": {"start": start, "end": end}, "text": new}

    def replace_span(self, start: int, end: int, new: str) -> Json:
        """The same between two offsets; one between CR and LF, which has no position, is moved before them."""
        start, end = sorted(self._placed(offset) for offset in (start, end))
        return self.replace(self.position(start), self.position(end), new)

    def apply(self, edits: Sequence[Json]) -> list[Json]:
        """Makes edits of one moment, which must not overlap. Those that undo them, of one moment, too."""
        spans = sorted(
            ((self.offset(e["range"]["start"]), self.offset(e["range"]["end"]), e["newText"]) for e in edits),
            key=lambda span: span[:2],  # stable: insertions at one place keep their order
        )
        parts, back, at, grown = [], [], 0, 0
        for start, end, new in spans:
            assert at <= start <= end, "edits overlap"
            back.append((start + grown, start + grown + len(new), self.text[start:end]))
            parts += [self.text[at:start], new]
            grown += len(new) - (end - start)
            at = end
        self.text = "".join([*parts, self.text[at:]])
        return [
            {"range": {"start": self.position(start), "end": self.position(end)}, "newText": old}
            for start, end, old in back
        ]

    def _units(self, text: str) -> int:
        codec, size = _CODECS[self.encoding]
        return len(text.encode(codec, "surrogatepass")) // size

    def _placed(self, offset: int) -> int:
        offset = min(max(offset, 0), len(self.text))
        return offset - 1 if self.text[offset - 1 : offset + 1] == "\r\n" else offset
