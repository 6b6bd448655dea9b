"""A notebook's JSON text, and where in it the sources of the cells stand.

A changed source is put into the text where the old one was, and everything else stays as it is: key order, indentation,
escapes, outputs, metadata that nobody knows. So only standard `json` is needed: it reads, and tells where each value ends.
(`nbformat` would print the whole file anew, and brings a JSON schema validator along.)

Formats 4 (`cells`, `source`) and 3 (`worksheets`, `input`) are read."""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from horovodize.source.encoding import UndecodableSource

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_KERNELS = {
    "ir": "R",
    "julia": "Julia",
    "javascript": "JavaScript",
    "scala": "Scala",
}  # by what their names start with
_PYTHON = re.compile(r"i?python\d*(\.\d+)*", re.I)
# Characters that some tools (Colab) escape although JSON does not ask for it.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}


class OtherLanguage(UndecodableSource):
    """The notebook's cells are not Python."""


@dataclass(frozen=True)
class Literal:
    """A JSON string: its value, and where it stands in the JSON text."""

    value: str
    start: int
    end: int


@dataclass
class RawCell:
    """A cell. `literals` make up its source; `start` and `end` say where that stands, brackets of a list included."""

    kind: str = ""
    literals: list[Literal] = field(default_factory=list)
    start: int = 0
    end: int = 0
    is_list: bool = False
    language: str = ""

    @property
    def source(self) -> str:
        return "".join(literal.value for literal in self.literals)


class NotebookJson:
    """The text of a notebook file. `cells` are all its cells, in order."""

    def __init__(self, text: str, bom: bytes = b"") -> None:
        """Raises UndecodableSource for what is no notebook, OtherLanguage for one that is not Python's."""
        self.text, self.bom = text, bom
        notebook = _loaded(text)
        self.cells = _Finder(text).cells()
        if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
            raise UndecodableSource("this is no notebook: it has no cells")
        language = _language(notebook) or next((c.language for c in self.cells if c.language), "")
        if language and not _PYTHON.fullmatch(language):
            raise OtherLanguage(f"this is a notebook for {language}, not for Python")
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]

    @classmethod
    def from_bytes(cls, data: bytes) -> NotebookJson:
        """Raises as the constructor does, and UndecodableSource for bytes that are not UTF-8."""
        bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        try:
            return cls(data[len(bom) :].decode("utf-8"), bom)
        except UnicodeDecodeError as e:
            line = data[: len(bom) + e.start].count(b"\n") + 1
            message = f"byte 0x{e.object[e.start]:02x} in line {line} is not utf-8"
            raise UndecodableSource(message, line=line) from e

    def line_of(self, offset: int) -> int:
        """The line of the file, from 1, that holds an offset."""
        return bisect_right(self._line_starts, offset)

    def with_sources(self, sources: Mapping[int, str]) -> bytes:
        """The file with other sources in some cells, which are given by their index in `cells`."""
        parts, at = [], 0
        for index, source in sorted(sources.items()):
            cell = self.cells[index]
            parts += [self.text[at : cell.start], self._written(cell, source)]
            at = cell.end
        text = "".join([*parts, self.text[at:]])
        return self.bom + text.encode("utf-8")

    def _written(self, cell: RawCell, source: str) -> str:
        """A source as JSON in the form that the cell had: one string, or a list of lines as notebooks split them."""
        if not cell.is_list:
            return self._dumped(source)
        lines = source.splitlines(keepends=True)
        if any(len(literal.value.splitlines()) > 1 for literal in cell.literals):
            lines = _LINE.findall(source)  # written by a tool that knows fewer line ends than Python
        if not lines:
            return "[]"
        raw = {literal.value: self.text[literal.start : literal.end] for literal in cell.literals}
        opening, between, closing = self._layout(cell)
        return f"[{opening}{between.join(raw.get(line) or self._dumped(line) for line in lines)}{closing}]"

    def _layout(self, cell: RawCell) -> tuple[str, str, str]:
        """What stands after `[`, between two strings and before `]`."""
        literals = cell.literals
        opening = self.text[cell.start + 1 : literals[0].start]
        closing = self.text[literals[-1].end : cell.end - 1]
        if len(literals) > 1:
            return opening, self.text[literals[0].end : literals[1].start], closing
        if "\n" in opening:
            return opening, "," + opening, closing
        return opening, "," if '","' in self.text else ", ", closing

    @cached_property
    def _escapes(self) -> dict[str, str]:
        """The characters that this file escapes although JSON does not ask for it."""
        return {character: escape for character, escape in _ESCAPED.items() if escape in self.text}

    def _dumped(self, value: str) -> str:
        literal = json.dumps(value, ensure_ascii=self.text.isascii())
        for character, escape in self._escapes.items():
            literal = literal.replace(character, escape)
        return re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", literal)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        message = f"this is no notebook: {e.msg} in line {e.lineno}"
        raise UndecodableSource(message, line=e.lineno, column=e.colno) from e
    except (RecursionError, ValueError) as e:  # nesting; numbers with too many digits
        raise UndecodableSource("this is no notebook: its JSON can't be read") from e


def _language(notebook: Mapping[str, Any]) -> str:
    """The language that a notebook's metadata name, or "" where they name none."""
    metadata = notebook.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    for key, entry in (("language_info", "name"), ("kernelspec", "language")):
        about = metadata.get(key)
        if isinstance(about, dict) and isinstance(about.get(entry), str):
            return str(about[entry])
    kernel = metadata.get("kernelspec")
    name = str(kernel.get("name", "")) if isinstance(kernel, dict) else ""
    return next((language for start, language in _KERNELS.items() if name.lower().startswith(start)), "")


class _Finder:
    """Goes through JSON text that is known to be valid. Every method takes where a value starts and returns where it ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._cells: list[RawCell] = []

    def cells(self) -> list[RawCell]:
        self._object(self._space(0), {"cells": self._cell_list, "worksheets": self._worksheets})
        return self._cells

    def _worksheets(self, at: int) -> int:
        self._cells = []
        sheets: list[RawCell] = []

        def sheet(at: int) -> int:
            end = self._object(at, {"cells": self._cell_list})
            sheets.extend(self._cells)
            self._cells = []
            return end

        end = self._array(at, sheet)
        self._cells = sheets
        return end

    def _cell_list(self, at: int) -> int:
        self._cells = []
        return self._array(at, self._cell)

    def _cell(self, at: int) -> int:
        cell = RawCell()
        self._cells.append(cell)

        def source(at: int) -> int:
            cell.literals, cell.start = [], at
            cell.is_list = self.text[at] == "["
            cell.end = self._array(at, literal) if cell.is_list else literal(at)
            return cell.end

        def literal(at: int) -> int:
            value, end = _DECODER.raw_decode(self.text, at)
            if value is not None and not isinstance(value, str):
                line = self.text.count("\n", 0, at) + 1
                raise UndecodableSource(
                    f"this is no notebook: the source of cell {len(self._cells)} is not text", line=line
                )
            if value is not None:
                cell.literals.append(Literal(value, at, end))
            return end

        def kind(at: int) -> int:
            cell.kind, end = self._word(at)
            return end

        def language(at: int) -> int:
            cell.language, end = self._word(at)
            return end

        return self._object(at, {"source": source, "input": source, "cell_type": kind, "language": language})

    # ------------------------------------------------------------------ JSON

    def _word(self, at: int) -> tuple[str, int]:
        value, end = _DECODER.raw_decode(self.text, at)
        return value if isinstance(value, str) else "", end

    def _object(self, at: int, handlers: Mapping[str, Callable[[int], int]]) -> int:
        """An object whose members with these keys are handled; what is no object is passed over."""
        if self.text[at] != "{":
            return self._skip(at)
        at = self._space(at + 1)
        while self.text[at] != "}":
            key, at = _DECODER.raw_decode(self.text, at)
            at = self._space(self._space(at) + 1)  # the colon
            at = self._space(handlers.get(key, self._skip)(at))
            if self.text[at] == ",":
                at = self._space(at + 1)
        return at + 1

    def _array(self, at: int, handle: Callable[[int], int]) -> int:
        """An array whose elements are handled; what is no array is passed over."""
        if self.text[at] != "[":
            return self._skip(at)
        at = self._space(at + 1)
        while self.text[at] != "]":
            at = self._space(handle(at))
            if self.text[at] == ",":
                at = self._space(at + 1)
        return at + 1

    def _skip(self, at: int) -> int:
        return _DECODER.raw_decode(self.text, at)[1]

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at
