"""A notebook in an editor of the tests."""

from __future__ import annotations

from lsprotocol import types


class Notebook:
    """A notebook in an editor: sends what an editor sends, keeps what an editor keeps."""

    def __init__(self, editor, address: str, cells: list[str]) -> None:
        self.editor, self.address = editor, address
        self.version = 1
        self.uris = [self._new(text) for text in cells]

    def _new(self, text: str) -> str:
        uri = f"vscode-notebook-cell:{self.address.removeprefix('file://')}#W{len(self.editor.texts)}"
        self.editor.texts[uri], self.editor.versions[uri] = text, 1
        return uri

    def _item(self, uri: str) -> types.TextDocumentItem:
        return types.TextDocumentItem(uri, "python", self.editor.versions[uri], self.editor.texts[uri])

    def open(self) -> None:
        cells = [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in self.uris]
        self.editor.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                types.NotebookDocument(self.address, "jupyter-notebook", 1, cells),
                [self._item(u) for u in self.uris],
            )
        )

    def _changed(self, cells: types.NotebookDocumentCellChanges) -> None:
        self.version += 1
        self.editor.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(self.version, self.address),
                types.NotebookDocumentChangeEvent(cells=cells),
            )
        )

    def type(self, index: int, old: str, new: str) -> None:
        uri, editor = self.uris[index], self.editor
        range_ = editor.place(uri, old)
        editor.texts[uri] = editor.texts[uri].replace(old, new, 1)
        editor.versions[uri] += 1
        content = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(editor.versions[uri], uri),
            [types.TextDocumentContentChangePartial(range_, new)],
        )
        self._changed(types.NotebookDocumentCellChanges(text_content=[content]))

    def insert(self, index: int, text: str) -> None:
        uri = self._new(text)
        self.uris.insert(index, uri)
        cell = types.NotebookCell(types.NotebookCellKind.Code, uri)
        structure = types.NotebookDocumentCellChangeStructure(
            types.NotebookCellArrayChange(index, 0, [cell]), did_open=[self._item(uri)]
        )
        self._changed(types.NotebookDocumentCellChanges(structure=structure))

    def remove(self, index: int) -> str:
        uri = self.uris.pop(index)
        structure = types.NotebookDocumentCellChangeStructure(
            types.NotebookCellArrayChange(index, 1), did_close=[types.TextDocumentIdentifier(uri)]
        )
        self._changed(types.NotebookDocumentCellChanges(structure=structure))
        return uri

    def save(self) -> None:
        self.editor.notebook_document_did_save(
            types.DidSaveNotebookDocumentParams(types.NotebookDocumentIdentifier(self.address))
        )

    def close(self) -> None:
        self.editor.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(
                types.NotebookDocumentIdentifier(self.address),
                [types.TextDocumentIdentifier(u) for u in self.uris],
            )
        )

    async def codes(self, index: int) -> list[str]:
        return [str(d.code) for d in await self.editor.diagnostics_of(self.uris[index])]
