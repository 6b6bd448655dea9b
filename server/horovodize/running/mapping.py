"""The source map of what was prepared, built from the plans' edits exactly."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from horovodize.plan import Plan
from horovodize.running.prepared import Prepared, PreparedFile, shown
from horovodize.running.source_map import MappedChange, MappedFile, SourceMap
from horovodize.source import Document, Edit, Move, UndecodableSource, compose
from horovodize.source.edits import apply
from horovodize.source.notebook import NotebookDocument

Pieces = Sequence[tuple[int, int]]
# Characters stand for places: code points from here on that no surrogate is among.
_FIRST = 0x10000
_LAST = 0x10FFFF


def source_map(prepared: Prepared, places: dict[Path, Path] | None = None) -> SourceMap:
    """The map of the files, the script's the last, and before them the project's modules that run as they are: errors come from
    there, too. `places`: where the distributed texts are, by `PreparedFile.target`; where it doesn't say, they are the targets
    themselves."""
    places = places or {}
    changed = {file.source for file in prepared.files}
    files = [*_unchanged([path for path in prepared.members if path not in changed]), *prepared.files]
    return SourceMap(tuple(_mapped(f, places.get(f.target, f.target)) for f in files))


def _unchanged(paths: Sequence[Path]) -> list[PreparedFile]:
    """Files that run as they are, as far as they can be read."""
    found = []
    for path in paths:
        with suppress(OSError, UndecodableSource):
            data = path.read_bytes()
            found.append(PreparedFile(path, path, Document.from_bytes(data, shown(path)), data))
    return found


def _mapped(file: PreparedFile, place: Path) -> MappedFile:
    document, plan = file.document, file.plan
    changes = _changes(plan)
    pieces = pieces_of(plan) if plan is not None else [(len(document.text), 0)]
    cells: list[tuple[int, int]] = []
    text = file.text
    if isinstance(document, NotebookDocument):
        cells = [(cell.number, document.lines.line_of(cell.start)) for cell in document.cells]
        pieces = _of_script(text, plan.text if plan is not None else document.text, pieces, len(changes))
        changes = [*changes, MappedChange("", "make a script of a notebook", "Horovod runs scripts", 0)]
    whole = (document.path, text, document.text, tuple(pieces), tuple(changes), tuple(cells))
    return MappedFile(os.fspath(place), *whole)


def _changes(plan: Plan | None) -> list[MappedChange]:
    found = plan.changes if plan is not None else ()
    return [MappedChange(c.rule, c.what, c.why, c.span.start) for c in found]


def pieces_of(plan: Plan) -> Pieces:
    """The distributed text in pieces, each with the offset in the document that it comes from, or -1 - the index of its change.

    The same composition is done with characters that stand for places instead of the text: so it can't differ from it."""
    text = plan.document.text
    origins: list[int] = list(range(len(text)))
    known: dict[Edit | Move, Edit | Move] = {}

    def marked(inserted: str, change: int) -> str:
        origins.extend([-1 - change] * len(inserted))
        return "".join(_character(len(origins) - len(inserted) + i) for i in range(len(inserted)))

    for index, change in enumerate(plan.changes):
        for edit in change.edits:
            if edit in known:
                continue
            if isinstance(edit, Edit):
                known[edit] = replace(edit, new_text=marked(edit.new_text, index))
            else:
                before, after, left = (marked(part, index) for part in (edit.before, edit.after, edit.left))
                known[edit] = replace(edit, before=before, after=after, left=left)
    if len(origins) > _LAST - _FIRST:  # a text of a million characters
        return [(len(plan.text), 0)]
    places = "".join(map(_character, range(len(text))))
    return _joined([origins[ord(c) - _FIRST] for c in apply(places, compose(places, known.values()))])


def _character(place: int) -> str:
    return chr(min(_FIRST + place, _LAST))


def _joined(origins: Sequence[int]) -> Pieces:
    """Places one after another as pieces."""
    pieces: list[tuple[int, int]] = []
    for origin in origins:
        if pieces:
            length, first = pieces[-1]
            if (origin < 0 and origin == first) or (first >= 0 and origin == first + length):
                pieces[-1] = (length + 1, first)
                continue
        pieces.append((1, origin))
    return pieces


def _of_script(script: str, edited: str, pieces: Pieces, made: int) -> Pieces:
    """The pieces of a notebook's script, line by line, from those of its edited code; what it adds is of change `made`."""
    origins = [o + i if o >= 0 else o for length, o in pieces for i in range(length)]
    lines, old = script.split("\n"), edited.split("\n")
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line) + 1)
    pairs: dict[int, int] = {}
    for a, b, size in difflib.SequenceMatcher(None, old, lines, autojunk=False).get_matching_blocks():
        pairs.update({b + i: a + i for i in range(size)})
    found: list[int] = []
    for number, line in enumerate(lines):
        if number in pairs:
            start = starts[pairs[number]]
            found += origins[start : start + len(line)]
        else:
            found += [-1 - made] * len(line)
        found.append(-1 - made)
    return _joined(found[:-1])
