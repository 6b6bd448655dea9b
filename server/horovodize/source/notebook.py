"""A notebook as a document: its code cells one after another, in the order of the file, as if they were one module.

Cells run in any order in Jupyter; here they are read, and later run as a script, from the first to the last. What is IPython
in a cell is masked (`magics`), so the text parses; it has the length and the lines of the cells, and blank lines between them.
So an offset in the document is an offset in a cell, rules work on the document as on any other, and their edits are cut up and
written into the sources of the cells. Knows nothing of TensorFlow."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from horovodize.source.document import Document, Part, Place, Problem, Untouchable
from horovodize.source.edits import Edit, EditConflict, apply
from horovodize.source.encoding import Encoded
from horovodize.source.lines import Span
from horovodize.source.magics import Magic, MagicKind, mask
from horovodize.source.notebook_json import NotebookJson

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_FIRST_INDENT = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*([ \t]+)(?=\S)")
# Between cells, and after the last: so many blank lines that no rule adds any at the end of a cell.
_BETWEEN = "\n\n\n"


@dataclass(frozen=True)
class Cell:
    """A code cell.

    number   from 1, over all cells of the notebook
    start    its offset in the document
    source   as it stands in the notebook
    code     as IPython runs it: without the indentation that a whole cell may have
    margin   that indentation
    magics   what in `code` is masked"""

    number: int
    start: int
    source: str
    code: str
    margin: str
    magics: tuple[Magic, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.code)

    @cached_property
    def _stripped(self) -> list[int]:
        """Offsets in `code` of the lines that stand behind the margin."""
        starts, at = [], 0
        for line in _LINE.findall(self.source) if self.margin else ():
            has_margin = line.startswith(self.margin)
            if has_margin:
                starts.append(at)
            at += len(line) - has_margin * len(self.margin)
        return starts

    def in_source(self, offset: int) -> int:
        """The offset in `source` of an offset in `code`."""
        return offset + len(self.margin) * bisect_right(self._stripped, offset)

    def edit_of_source(self, edit: Edit) -> Edit:
        """An edit of `code` as one of `source`: what is inserted gets the margin too."""
        start, end = self.in_source(edit.span.start), self.in_source(edit.span.end)
        text = re.sub(r"((?:\r\n|\r|\n)+)(?=[^\r\n])", lambda m: m[1] + self.margin, edit.new_text)
        if self.margin and edit.new_text.endswith(("\r", "\n")) and self.code[edit.span.end :].strip("\r\n"):
            text += self.margin
        return Edit(Span(start, end), text)


def _read_cell(number: int, start: int, source: str) -> tuple[Cell, str]:
    """A cell that starts at an offset of the document, and its masked code."""
    code, margin = source, ""
    masked = mask(code)
    indent = _FIRST_INDENT.match(source)
    if indent is not None and Document(masked.text).problem is not None:
        margin = indent[1]
        code = "".join(line.removeprefix(margin) for line in _LINE.findall(source))
        masked = mask(code)
    return Cell(number, start, source, code, margin, masked.magics), masked.text


class NotebookDocument(Document):
    """One version of a notebook's code cells. `text` is their Python."""

    def __init__(self, sources: Sequence[tuple[int, str]], path: str = "<notebook>") -> None:
        """Code cells as (number, source), in order."""
        self.cells: list[Cell] = []
        parts, at = [], 0
        for number, source in sources:
            cell, text = _read_cell(number, at, source)
            self.cells.append(cell)
            parts += [text, _BETWEEN]
            at += len(text) + len(_BETWEEN)
        text = "".join(parts)
        super().__init__(text, path, encoded=Encoded(text))
        self._starts = [cell.start for cell in self.cells]

    # ------------------------------------------------------------------ reading

    @cached_property
    def _parsed(self) -> ast.Module | Problem:
        """Every cell is parsed by itself, as IPython does it: an open bracket does not reach into the next cell."""
        body: list[ast.stmt] = []
        for cell in self.cells:
            document = Document(self.text[cell.start : cell.end])
            if document.problem is not None:
                span = document.problem.span
                return Problem(document.problem.message, Span(span.start + cell.start, span.end + cell.start))
            assert document.tree is not None
            if cell.start:
                ast.increment_lineno(document.tree, self.lines.line_of(cell.start))
            body += document.tree.body
        return ast.Module(body, [])

    @cached_property
    def newline(self) -> str:
        """The line end that most lines of the cells have."""
        counts = Counter(end for cell in self.cells for end in re.findall(r"\r\n|\r|\n", cell.source))
        return counts.most_common(1)[0][0] if counts else "\n"

    @cached_property
    def commands(self) -> tuple[Span, ...]:  # type: ignore[override]
        return tuple(
            Span(cell.start + magic.start, cell.start + magic.end)
            for cell in self.cells
            for magic in cell.magics
        )

    def cell_at(self, offset: int) -> Cell | None:
        """The code cell that an offset is in, or after which it comes; None only where there are no cells."""
        index = bisect_right(self._starts, offset) - 1
        return self.cells[max(index, 0)] if self.cells else None

    def original(self, span: Span) -> str:
        cell = self.cell_at(span.start)
        return cell.code[span.start - cell.start : span.end - cell.start] if cell else ""

    def place(self, offset: int) -> Place:
        cell = self.cell_at(offset)
        if cell is None:
            return Place(1, 1)
        at = min(max(offset, cell.start), cell.end)
        here = super().place(at)
        line_start = at - here.column + 1 - cell.start
        margin = cell.in_source(line_start) - cell.in_source(line_start - 1) - 1 if cell.margin else 0
        return Place(here.line - self.lines.line_of(cell.start), here.column + margin, cell.number)

    def separates(self, before: int, after: int) -> bool:
        return self.cell_at(before) is not self.cell_at(after)

    # ------------------------------------------------------------------ editing

    def changed_by(self, edits: Sequence[Edit]) -> NotebookDocument:
        changed = {part.cell: apply(part.text, part.edits) for part in self.parts(edits)}
        return NotebookDocument([(c.number, changed.get(c.number, c.source)) for c in self.cells], self.path)

    def parts(self, edits: Sequence[Edit]) -> list[Part]:
        """The cells that edits change. Raises EditConflict for an edit that reaches over a cell's end."""
        return [
            Part(cell.number, cell.source, tuple(cell.edit_of_source(e) for e in own))
            for cell, own in self._by_cell(edits)
        ]

    def _by_cell(self, edits: Sequence[Edit]) -> list[tuple[Cell, list[Edit]]]:
        """The cells that edits change, each with its edits, which count from the start of its code."""
        found: dict[int, list[Edit]] = {}
        for edit in edits:
            cell = self.cell_at(edit.span.start)
            if cell is not None:
                found.setdefault(cell.number, []).append(self._within(cell, edit))
        return [(cell, found[cell.number]) for cell in self.cells if cell.number in found]

    def _within(self, cell: Cell, edit: Edit) -> Edit:
        """An edit of the document as one of a cell's source. What it does to the blank lines between cells is left out."""
        start, end = min(edit.span.start, cell.end), min(edit.span.end, cell.end)
        if edit.span.end > cell.end + len(_BETWEEN) or (edit.span.end > cell.end and edit.new_text.strip()):
            raise EditConflict(f"a change of {self.place(edit.span.start)} reaches over the end of the cell")
        start, end = start - cell.start, end - cell.start
        if (
            edit.span.end > cell.end and not edit.new_text
        ):  # its last lines go: so does the line end before them
            start = len(re.sub(r"(\r\n|\r|\n)\Z", "", cell.code[:start]))
        return Edit(Span(start, end), edit.new_text)

    def codes(self, edits: Sequence[Edit]) -> dict[int, str]:
        """What IPython would run in each code cell after edits, by the cells' numbers."""
        changed = {cell.number: apply(cell.code, own) for cell, own in self._by_cell(edits)}
        return {cell.number: changed.get(cell.number, cell.code) for cell in self.cells}

    def verify(self, edits: Sequence[Edit]) -> None:
        """Every changed cell parses, and its commands are the ones that it had, in lines of their own."""
        for cell, own in self._by_cell(edits):
            for edit in own:
                for magic in cell.magics:
                    if edit.span.start < magic.end and magic.start < max(edit.span.end, edit.span.start):
                        raise self._untouchable(cell, magic)
            after = mask(apply(cell.code, own))
            for old, new in _pairs(cell.magics, after.magics):
                if old is not None and (new is None or old.text != new.text or old.kind != new.kind):
                    raise self._untouchable(cell, old)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    ast.parse(after.text)
                except SyntaxError:
                    prefix = next((m for m in cell.magics if m.kind is MagicKind.PREFIX), None)
                    if prefix is not None:
                        raise self._untouchable(cell, prefix) from None
                    raise

    def _untouchable(self, cell: Cell, magic: Magic) -> Untouchable:
        command = magic.text.split()[0] if magic.text.split() else magic.text
        span = Span(cell.start + magic.start, cell.start + magic.end)
        return Untouchable(
            f"this line would have to change, but it is a command of the notebook (`{command}`): give the statement a line "
            "of its own",
            span,
        )


class NotebookFile(NotebookDocument):
    """One version of a notebook file."""

    def __init__(self, notebook: NotebookJson, path: str) -> None:
        code = [(number, raw.source) for number, raw in enumerate(notebook.cells, 1) if raw.kind == "code"]
        super().__init__(code, path)
        self.notebook = notebook

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> NotebookFile:
        """Reads a file's bytes. Raises UndecodableSource for what is no notebook, OtherLanguage for one not of Python."""
        return cls(NotebookJson.from_bytes(data), path)

    def file_line(self, offset: int) -> int:
        cell = self.cell_at(offset)
        if cell is None:
            return 1
        raw = self.notebook.cells[cell.number - 1]
        at, start = cell.in_source(offset - cell.start), raw.start
        for literal in raw.literals:
            start = literal.start
            at -= len(literal.value)
            if at < 0:
                break
        return self.notebook.line_of(start)

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The notebook file: byte for byte what it was, but for the sources of the changed cells."""
        changed = {part.cell: apply(part.text, part.edits) for part in self.parts(edits)}
        return self.notebook.with_sources(
            {number - 1: source for number, source in changed.items() if number}
        )


def _pairs(old: tuple[Magic, ...], new: tuple[Magic, ...]) -> Iterator[tuple[Magic | None, Magic | None]]:
    for i in range(max(len(old), len(new))):
        yield old[i] if i < len(old) else None, new[i] if i < len(new) else None
