"""What the server holds between messages: the open documents as the client sees them, and what was found out
about them.

The text is kept here and not by pygls, which ends lines wherever `str.splitlines` does: after a form feed or
a U+2028 its edits land in the wrong line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from lsprotocol import types
from pygls.uris import to_fs_path

from horovodize.lsp.analysis import Analysis
from horovodize.lsp.capabilities import Capabilities
from horovodize.lsp.drift import Drift
from horovodize.lsp.settings import Settings
from horovodize.options import Options
from horovodize.source import Document, Position, PositionEncoding

ContentChange: TypeAlias = (
    types.TextDocumentContentChangePartial | types.TextDocumentContentChangeWholeDocument
)

_SURROGATE = re.compile("[\ud800-\udfff]")


class OpenDocument:
    """A document that the client has open."""

    def __init__(self, uri: str, version: int, text: str) -> None:
        self.uri = uri
        self.version = version
        self.document = Document(text, _path(uri))
        self._saved = text
        self._analysis: Analysis | None = None
        self._last_good: Analysis | None = None

    @property
    def text(self) -> str:
        return self.document.text

    @property
    def unsaved(self) -> bool:
        """Whether the text differs from what was last opened or saved."""
        return self.text != self._saved

    @property
    def parsed_once(self) -> bool:
        """Whether an earlier version parsed."""
        return self._last_good is not None

    def saved(self) -> None:
        self._saved = self.text

    def change(self, version: int, changes: Sequence[ContentChange], encoding: PositionEncoding) -> None:
        """Applies the changes of one notification, each to what the one before it left."""
        document = self.document
        for change in changes:
            document = Document(_changed(document, change, encoding), document.path)
        if self._analysis is not None and self._analysis.summary.problem is None:
            self._last_good = self._analysis
        self.version, self.document, self._analysis = version, document, None

    def analysis(self, options: Options) -> Analysis:
        """The analysis of this version."""
        if self._analysis is None:
            self._analysis = Analysis(self.document, options)
        self._analysis = self._analysis.under(options)
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
    """The state of one connection."""

    def __init__(
        self,
        client: Capabilities | None = None,
        encoding: PositionEncoding = PositionEncoding.UTF16,
        settings: Settings | None = None,
    ) -> None:
        self.client = client or Capabilities()
        self.encoding = encoding
        self.settings = settings or Settings()
        self._documents: dict[str, OpenDocument] = {}

    @property
    def documents(self) -> list[OpenDocument]:
        return list(self._documents.values())

    def get(self, uri: str) -> OpenDocument | None:
        """The open document, or None: closed, never opened, or not Python."""
        return self._documents.get(uri)

    def open(self, item: types.TextDocumentItem) -> OpenDocument | None:
        """Takes a document in; None when it is not ours to look at."""
        if item.language_id != "python" or urlsplit(item.uri).scheme == "vscode-notebook-cell":
            return None  # a notebook's cell makes no sense without the others
        opened = OpenDocument(item.uri, item.version, _joined(item.text))
        self._documents[item.uri] = opened
        return opened

    def change(self, uri: str, version: int, changes: Sequence[ContentChange]) -> OpenDocument | None:
        """Brings a document to a new version; None when it is not open."""
        if (document := self.get(uri)) is not None:
            document.change(version, changes, self.encoding)
        return document

    def close(self, uri: str) -> bool:
        """Forgets a document. Whether there was one."""
        return self._documents.pop(uri, None) is not None


def _changed(document: Document, change: ContentChange, encoding: PositionEncoding) -> str:
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return _joined(change.text)
    start, end = (
        document.lines.offset(Position(at.line, at.character), encoding)
        for at in (change.range.start, change.range.end)
    )
    return _joined(document.text[: min(start, end)] + change.text + document.text[max(start, end) :])


def _joined(text: str) -> str:
    """A character beyond U+FFFF may arrive in halves, by two changes: they make one character again."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _path(uri: str) -> str:
    return (to_fs_path(uri) or uri) if urlsplit(uri).scheme == "file" else uri
