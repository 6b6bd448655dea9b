"""A notebook that the client has open: its code cells are documents of the client, and one document for the engine."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from horovodize.lsp.convert import to_offset, to_range
from horovodize.lsp.session import OpenDocument, changed, joined
from horovodize.source import Document, Edit, PositionEncoding, Span
from horovodize.source.notebook import Cell, NotebookDocument


class OpenNotebook(OpenDocument):
    """A notebook. Its version is the notebook's; each cell has its own, too."""

    def __init__(
        self,
        notebook: types.NotebookDocument,
        documents: Sequence[types.TextDocumentItem],
    ) -> None:
        super().__init__(notebook.uri, notebook.version, "")
        self._cells = list(notebook.cells)
        self._texts: dict[str, Document] = {}
        self._versions: dict[str, int] = {}
        self._take_in(documents)
        self.document = self._joined()
        self.saved()

    # ------------------------------------------------------------------ changing

    def update(
        self, version: int, change: types.NotebookDocumentChangeEvent, encoding: PositionEncoding
    ) -> list[str]:
        """Applies the changes of one notification. The cells that are gone with it."""
        before, cells = self.uris, change.cells
        if cells is not None:
            if cells.structure is not None:
                array = cells.structure.array
                self._cells[array.start : array.start + array.delete_count] = array.cells or []
                self._take_in(cells.structure.did_open or [])
                for closed in cells.structure.did_close or []:
                    self._texts.pop(closed.uri, None)
                    self._versions.pop(closed.uri, None)
            for cell in cells.data or []:
                self._cells = [cell if old.document == cell.document else old for old in self._cells]
            for content in cells.text_content or []:
                self._edit(content.document, content.changes, encoding)
        self._replace(version, self._joined())
        return [uri for uri in before if uri not in self.uris]

    def _take_in(self, documents: Sequence[types.TextDocumentItem]) -> None:
        for item in documents:
            if item.language_id == "python":
                self._texts[item.uri] = Document(joined(item.text), item.uri)
                self._versions[item.uri] = item.version

    def _edit(
        self,
        identifier: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
        encoding: PositionEncoding,
    ) -> None:
        if identifier.uri in self._texts:
            for change in changes:
                text = changed(self._texts[identifier.uri], change, encoding)
                self._texts[identifier.uri] = Document(text, identifier.uri)
            self._versions[identifier.uri] = identifier.version

    def _joined(self) -> NotebookDocument:
        sources = [(number, self._texts[uri].text) for number, uri in enumerate(self.uris, 1)]
        return NotebookDocument(sources, self.document.path)

    # ------------------------------------------------------------------ places

    @property
    def uris(self) -> list[str]:
        return [
            cell.document
            for cell in self._cells
            if cell.kind is types.NotebookCellKind.Code and cell.document in self._texts
        ]

    def version_of(self, uri: str) -> int:
        return self._versions.get(uri, self.version)

    def uri_of(self, cell: int | None) -> str:
        return self.uris[cell - 1] if cell is not None else self.uri

    def location(self, span: Span, encoding: PositionEncoding) -> types.Location:
        cell = self._notebook.cell_at(span.start)
        if cell is None:
            return types.Location(self.uri, to_range(self.document, span, encoding))
        start, end = (
            cell.in_source(min(max(offset, cell.start), cell.end) - cell.start)
            for offset in (span.start, span.end)
        )
        uri = self.uri_of(cell.number)
        return types.Location(uri, to_range(self._texts[uri], Span(start, end), encoding))

    def text_edit(self, edit: Edit, encoding: PositionEncoding) -> tuple[str, types.TextEdit]:
        for part in self.document.parts([edit]):
            for own in part.edits:
                uri = self.uri_of(part.cell)
                return uri, types.TextEdit(to_range(self._texts[uri], own.span, encoding), own.new_text)
        raise AssertionError("an edit of a notebook without code")

    def offset(self, uri: str, position: types.Position, encoding: PositionEncoding) -> int:
        cell = next((c for c in self._notebook.cells if self.uri_of(c.number) == uri), None)
        if cell is None:
            return 0
        return cell.start + _in_code(cell, to_offset(self._texts[uri], position, encoding))

    @property
    def _notebook(self) -> NotebookDocument:
        assert isinstance(self.document, NotebookDocument)
        return self.document


def _in_code(cell: Cell, offset: int) -> int:
    """The offset in a cell's code of one in its source: in the margin, that of the line's start."""
    low, high = 0, len(cell.code)
    while low < high:
        middle = (low + high + 1) // 2
        if cell.in_source(middle) <= offset:
            low = middle
        else:
            high = middle - 1
    return low
