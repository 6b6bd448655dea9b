"""Where each piece of a distributed text comes from: the user's line, or the change that put it there.

Stands on its own (the standard library, nothing of Horovodize), so that a distributed script that is run by other means can be
read in the user's lines: `SourceMap.read(path)`, then `file_of` and `MappedFile.origin`."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

VERSION = 1


class NoSourceMap(ValueError):
    """A file is no source map, or one of another version: a sentence for the user."""


@dataclass(frozen=True)
class MappedChange:
    """A change: its rule, what it does, why, and the offset in the user's text that it is about."""

    rule: str
    what: str
    why: str
    offset: int


@dataclass(frozen=True)
class Origin:
    """Where a place of a distributed text comes from.

    source   the user's file
    line     in it, from 1 (in a notebook: in its cell); of inserted text, the line that the change is about
    column   from 1
    text     that line, without its end
    change   the change that inserted this place; None for the user's own
    touched  the changes that did something to the rest of the line
    cell     of a notebook, from 1
    inserted nothing of the distributed line is the user's"""

    source: str
    line: int
    column: int
    text: str
    change: MappedChange | None = None
    touched: Sequence[MappedChange] = ()
    cell: int | None = None
    inserted: bool = False


@dataclass(frozen=True)
class MappedFile:
    """One file.

    path     of the distributed text
    source   the user's file, as messages call it
    text     the distributed text
    original the user's
    pieces   the distributed text in pieces: how long one is, and where it comes from: an offset in the user's text, or, where
             that is negative, change number -1 - n
    changes  those of this file
    cells    of a notebook: for each code cell its number, and its first line in `original`, from 0"""

    path: str
    source: str
    text: str
    original: str
    pieces: Sequence[tuple[int, int]]
    changes: Sequence[MappedChange]
    cells: Sequence[tuple[int, int]] = ()

    # ------------------------------------------------------------------ from what runs to what was written

    def origin(self, line: int, column: int | None = None) -> Origin | None:
        """Where a line of the distributed text comes from (from 1), or what stands at a column of it (from 1). None for a line
        that it doesn't have."""
        if not 1 <= line <= len(self._lines):
            return None
        start, end = self._lines[line - 1]
        here = [at for at in range(start, end) if not self.text[at].isspace()] or [start]
        wanted = next((at for at in here if column is not None and at >= start + column - 1), None)
        found = [self._from(at) for at in here]
        changes = list(dict.fromkeys(-1 - at for at in found if at < 0))
        touched = [self.changes[n] for n in changes]
        if wanted is not None:
            at = self._from(wanted)
        else:
            at = next((at for at in found if at >= 0), found[0])
        if at < 0:
            change = self.changes[-1 - at]
            others = [c for c in touched if c is not change]
            return replace(
                self._place(change.offset, change, others), inserted=all(place < 0 for place in found)
            )
        return self._place(at, None, touched)

    def distributed_lines(self, line: int, cell: int | None = None) -> list[int]:
        """The lines of the distributed text, from 1, that a line of the user's becomes, with those that are inserted because of
        it (those of changes that are about this line)."""
        found = []
        for number, (start, end) in enumerate(self._lines, 1):
            for at in range(start, end):
                if self.text[at].isspace():
                    continue
                origin = self._from(at)
                offset = origin if origin >= 0 else self.changes[-1 - origin].offset
                place = self._place(offset)
                if place.line == line and place.cell == cell:
                    found.append(number)
                    break
        return found

    def line(self, number: int) -> str:
        """A line of the distributed text, from 1, without its end."""
        if not 1 <= number <= len(self._lines):
            return ""
        start, end = self._lines[number - 1]
        return self.text[start:end]

    # ------------------------------------------------------------------ inside

    def _from(self, at: int) -> int:
        index = bisect_right(self._starts, at) - 1
        origin = self.pieces[index][1]
        return origin if origin < 0 else origin + at - self._starts[index]

    def _place(
        self, offset: int, change: MappedChange | None = None, touched: Sequence[MappedChange] = ()
    ) -> Origin:
        index = max(bisect_right([start for start, _ in self._own_lines], offset) - 1, 0)
        start, end = self._own_lines[index]
        cell, first = None, 0
        for number, line in self.cells:
            if line <= index:
                cell, first = number, line
        text = self.original[start:end]
        return Origin(self.source, index - first + 1, offset - start + 1, text, change, tuple(touched), cell)

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for length, _ in self.pieces:
            starts.append(at)
            at += length
        return starts or [0]

    @cached_property
    def _lines(self) -> list[tuple[int, int]]:
        return _lines(self.text)

    @cached_property
    def _own_lines(self) -> list[tuple[int, int]]:
        return _lines(self.original)


@dataclass(frozen=True)
class SourceMap:
    """The files of a distributed script."""

    files: Sequence[MappedFile]

    def file_of(self, path: str) -> MappedFile | None:
        """The file that a path in a traceback means: the distributed text itself, else the one that the path ends with."""
        path = path.replace("\\", "/")
        exact = [file for file in self.files if path in (file.path, os.path.realpath(file.path))]
        if exact:
            return exact[0]
        wanted = path.split("/")
        best, shared = None, 0
        for file in self.files:
            own = file.path.replace("\\", "/").split("/")
            count = 0
            while count < min(len(own), len(wanted)) and own[-1 - count] == wanted[-1 - count]:
                count += 1
            if count > shared:
                best, shared = file, count
        # A file of a package may be called like one of the user's.
        library = {"site-packages", "dist-packages"} & set(wanted)
        return best if best is not None and not library else None

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "files": [
                {
                    "path": f.path, "source": f.source, "text": f.text, "original": f.original,
                    "pieces": [list(piece) for piece in f.pieces],
                    "changes": [{"rule": c.rule, "what": c.what, "why": c.why, "offset": c.offset} for c in f.changes],
                    "cells": [list(cell) for cell in f.cells],
                }
                for f in self.files
            ],
        }  # fmt: skip

    @staticmethod
    def from_json(value: Any) -> SourceMap:
        """Raises NoSourceMap."""
        try:
            if value["version"] != VERSION:
                raise NoSourceMap(f"this is a source map of version {value['version']}, not {VERSION}")
            files = [
                MappedFile(
                    f["path"], f["source"], f["text"], f["original"],
                    tuple((int(length), int(origin)) for length, origin in f["pieces"]),
                    tuple(MappedChange(c["rule"], c["what"], c["why"], int(c["offset"])) for c in f["changes"]),
                    tuple((int(number), int(line)) for number, line in f["cells"]),
                )
                for f in value["files"]
            ]  # fmt: skip
        except (KeyError, TypeError, ValueError) as e:
            if isinstance(e, NoSourceMap):
                raise
            raise NoSourceMap("this is no source map of Horovodize's") from e
        return SourceMap(tuple(files))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_json(), ensure_ascii=False), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> SourceMap:
        """Raises NoSourceMap and OSError."""
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as e:
            raise NoSourceMap(f"{path}: this is no source map of Horovodize's") from e
        return SourceMap.from_json(value)


def _lines(text: str) -> list[tuple[int, int]]:
    """Start and end of each line as Python counts them, ends left out."""
    found, start = [], 0
    for line in text.replace("\r\n", "\n\0").replace("\r", "\n").split("\n"):
        begin = start + (1 if line.startswith("\0") else 0)
        end = start + len(line)
        found.append((begin, end))
        start = end + 1
    return found
