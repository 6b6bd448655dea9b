"""What the server holds between messages: the open documents as the client sees them, and what was found out
about them.

The text is kept here and not by pygls, which ends lines wherever `str.splitlines` does: after a form feed or
a U+2028 its edits land in the wrong line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from lsprotocol import types
from pygls.uris import to_fs_path

from horovodize.lsp.analysis import Analysis
from horovodize.lsp.capabilities import Capabilities
from horovodize.lsp.convert import to_offset, to_range
from horovodize.lsp.drift import Drift
from horovodize.lsp.project_files import DiskFiles, ProjectFiles
from horovodize.lsp.settings import Settings
from horovodize.options import Options
from horovodize.source import Document, Edit, Position, PositionEncoding, Span

ContentChange: TypeAlias = (
    types.TextDocumentContentChangePartial | types.TextDocumentContentChangeWholeDocument
)

_SURROGATE = re.compile("[\ud800-\udfff]")


class OpenDocument:
    """A document that the client has open.

    awaits_outcome  the client was told of an earlier version what distributing comes to, and is to ask again
    """

    def __init__(self, uri: str, version: int, text: str) -> None:
        self.uri = uri
        self.version = version
        self.settings = Settings()
        self.document = Document(text, _path(uri))
        self.awaits_outcome = False
        self._saved = text
        self._analysis: Analysis | None = None
        self._last_good: Analysis | None = None

    @property
    def text(self) -> str:
        return self.document.text

    @property
    def path(self) -> str | None:
        """Where it lies on disk; None for what is no file."""
        return (to_fs_path(self.uri) or None) if urlsplit(self.uri).scheme == "file" else None

    @property
    def folder(self) -> Path | None:
        """The folder that it lies in; None for what is no file."""
        return Path(self.path).parent if self.path else None

    @property
    def uris(self) -> list[str]:
        """The documents of the client that it consists of: itself, or the cells of a notebook."""
        return [self.uri]

    def version_of(self, uri: str) -> int:
        """The version of one of `uris`."""
        return self.version

    def uri_of(self, cell: int | None) -> str:
        """The client's document of a part of the text: of a notebook's cell, by its number from 1."""
        return self.uri

    def location(self, span: Span, encoding: PositionEncoding) -> types.Location:
        """A span of the text as the client knows it."""
        return types.Location(self.uri, to_range(self.document, span, encoding))

    def offset(self, uri: str, position: types.Position, encoding: PositionEncoding) -> int:
        """The offset in the text of a client's position in one of `uris`; positions outside are brought into it."""
        return to_offset(self.document, position, encoding)

    def text_edit(self, edit: Edit, encoding: PositionEncoding) -> tuple[str, types.TextEdit]:
        """An edit of the text as the client makes it, with the document that it is made in. Raises EditConflict for one that
        no single document holds."""
        place = self.location(edit.span, encoding)
        return place.uri, types.TextEdit(place.range, edit.new_text)

    def span(self, uri: str, range_: types.Range, encoding: PositionEncoding) -> Span:
        """The span of a client's range in one of `uris`, whichever way round it is."""
        ends = sorted(self.offset(uri, position, encoding) for position in (range_.start, range_.end))
        return Span(ends[0], ends[1])

    @property
    def unsaved(self) -> bool:
        """Whether the text differs from what was last opened or saved."""
        return self.text != self._saved

    @property
    def parsed_once(self) -> bool:
        """Whether this version or an earlier one parsed."""
        return self._last_good is not None or self.document.is_parsed

    def saved(self) -> None:
        self._saved = self.text

    def change(self, version: int, changes: Sequence[ContentChange], encoding: PositionEncoding) -> None:
        """Applies the changes of one notification, each to what the one before it left."""
        document = self.document
        for change in changes:
            document = document.changed_to(changed(document, change, encoding))
        self._replace(version, document)

    def _replace(self, version: int, document: Document) -> None:
        """Goes over to a new version."""
        if self.document.is_parsed:  # it may have taken the tree of the last good one over
            self._last_good = self._analysis or Analysis(self.document, self.settings.options)
        self.version, self.document, self._analysis = version, document, None

    def analysis(self, options: Options) -> Analysis:
        """The analysis of this version."""
        if self._analysis is None:
            self._analysis = Analysis(self.document, options)
        self._analysis = self._analysis.under(options)
        if self.document.is_parsed:
            self._last_good = None  # this one is good
        return self._analysis

    def shown(self, options: Options) -> tuple[Analysis, Drift | None] | None:
        """The analysis to show: of this version; or, when it does not parse, of the last version that did,
        and how the text has changed since; or none at all."""
        analysis = self.analysis(options)
        if analysis.summary.problem is None:
            return analysis, None
        if self._last_good is None:
            return None
        self._last_good = self._last_good.under(options)
        return self._last_good, Drift.between(self._last_good.document.text, self.text)


class Session:
    """The state of one connection.

    runners   gives the scripts that train and run a file, all by path, as far as is known
    may_run   whether a file, by path, may train with what it imports, as far as is known; told whether it has a loop itself"""

    def __init__(
        self,
        client: Capabilities | None = None,
        encoding: PositionEncoding = PositionEncoding.UTF16,
        settings: Settings | None = None,
    ) -> None:
        self.client = client or Capabilities()
        self.encoding = encoding
        self.settings = settings or Settings()
        self.disk = DiskFiles()
        self.runners: Callable[[str], list[str]] = lambda path: []
        self.may_run: Callable[[str, bool], bool] = lambda path, trains: False
        self._documents: dict[str, OpenDocument] = {}
        self._by_cell: dict[str, OpenDocument] = {}

    @property
    def documents(self) -> list[OpenDocument]:
        return list(self._documents.values())

    @property
    def files(self) -> ProjectFiles:
        """The files that a script's project is read from."""
        return ProjectFiles(self.documents, self.disk)

    def get(self, uri: str) -> OpenDocument | None:
        """The open document, or the notebook that has it as a cell; None: closed, never opened, or not Python."""
        return self._documents.get(uri) or self._by_cell.get(uri)

    def uri_of(self, path: str) -> str:
        """The URI of a file as the client writes it."""
        known = next((opened.uri for opened in self._documents.values() if opened.path == path), None)
        return known or self.disk.uri_of(path)

    def open(self, item: types.TextDocumentItem) -> OpenDocument | None:
        """Takes a document in; None when it is not ours to look at."""
        if item.language_id != "python" or urlsplit(item.uri).scheme == "vscode-notebook-cell":
            return None  # a notebook's cell makes no sense without the others
        opened = OpenDocument(item.uri, item.version, joined(item.text))
        opened.settings = self.settings
        self._documents[item.uri] = opened
        return opened

    def keep(self, opened: OpenDocument) -> None:
        """Takes in a document that consists of others, or learns of which it consists now."""
        self._documents[opened.uri] = opened
        self._by_cell = {uri: whole for uri, whole in self._by_cell.items() if whole is not opened}
        self._by_cell |= dict.fromkeys(opened.uris, opened)

    def change(self, uri: str, version: int, changes: Sequence[ContentChange]) -> OpenDocument | None:
        """Brings a document to a new version; None when it is not open."""
        if (document := self._documents.get(uri)) is not None:
            document.change(version, changes, self.encoding)
        return document

    def close(self, uri: str) -> bool:
        """Forgets a document. Whether there was one."""
        opened = self._documents.pop(uri, None)
        self._by_cell = {cell: whole for cell, whole in self._by_cell.items() if whole is not opened}
        return opened is not None


def changed(document: Document, change: ContentChange, encoding: PositionEncoding) -> str:
    """A document's text after one change."""
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return joined(change.text)
    start, end = (
        document.lines.offset(Position(at.line, at.character), encoding)
        for at in (change.range.start, change.range.end)
    )
    return joined(document.text[: min(start, end)] + change.text + document.text[max(start, end) :])


def joined(text: str) -> str:
    """A character beyond U+FFFF may arrive in halves, by two changes: they make one character again."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _path(uri: str) -> str:
    return (to_fs_path(uri) or uri) if urlsplit(uri).scheme == "file" else uri
