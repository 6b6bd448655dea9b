"""horovodize.preview: what distributing would do, as data, without doing it. Arguments: documents (a URI, or `{"uri": …,
"version": …}`); without, all that are open.

The answer has an object for each text that would change (`uri`, `version`, `oldText`, `newText`), one with `refused` or
`unchanged` for a document that would not. `changes` are those of the document: `rule`, `title`, `what`, `why`, `sure`, `doubt`,
and the place, `location`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.uris import from_fs_path

from horovodize.lsp import distribution
from horovodize.lsp.commands.arguments import documents
from horovodize.lsp.convert import to_range
from horovodize.lsp.progress import Work
from horovodize.lsp.session import OpenDocument
from horovodize.plan import Plan, Unchanged
from horovodize.source import Document, Edit, Span
from horovodize.source.edits import apply
from horovodize.source.project import ProjectDocument

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


def run(server: HorovodizeServer, arguments: Sequence[Any], work: Work) -> list[dict[str, Any]]:
    opened = documents(server, arguments) if arguments else server.session.documents
    found: dict[str | None, dict[str, Any]] = {}
    for document in work.each("Preview", opened):
        for text in _Preview(server, document).texts():
            found.setdefault(text["uri"], text)  # a module may come with its script and for itself
    return list(found.values())


class _Preview:
    """What one document comes to."""

    def __init__(self, server: HorovodizeServer, opened: OpenDocument) -> None:
        self.session, self.opened = server.session, opened

    def texts(self) -> Iterator[dict[str, Any]]:
        outcome = distribution.subject_of(self.session, self.opened).outcome
        if isinstance(outcome, Plan):
            yield from self._changed(outcome)
            return
        document = {"uri": self.opened.uri, "version": self.opened.version}
        if isinstance(outcome, Unchanged):
            yield {**document, "unchanged": outcome.message}
        else:
            yield {
                **document,
                "refused": [
                    {
                        "code": reason.code,
                        "message": reason.message,
                        "location": self._location(*_in_file(outcome.document, reason.span)),
                    }
                    for reason in outcome.reasons
                ],
            }

    def _changed(self, plan: Plan) -> Iterator[dict[str, Any]]:
        from horovodize.distribute_project import files
        from horovodize.rules import RULES

        by_uri: dict[str, list[dict[str, Any]]] = {}
        for change in plan.changes:
            location = self._location(*_in_file(plan.document, change.span))
            by_uri.setdefault(location["uri"], []).append(
                {
                    "rule": change.rule,
                    "title": RULES[change.rule].title if change.rule in RULES else change.what,
                    "what": change.what,
                    "why": change.why,
                    "sure": change.sure,
                    "doubt": change.doubt,
                    "location": location,
                }
            )
        for file in files(plan):
            buffer = self._buffer(file.document)
            for part in file.document.parts(file.edits):
                uri = buffer.uri_of(part.cell) if buffer else from_fs_path(file.document.path)
                yield {
                    "uri": uri,
                    "version": buffer.version_of(uri) if buffer and uri else None,
                    "oldText": part.text,
                    "newText": apply(part.text, part.edits),
                    "changes": by_uri.get(uri or "", []),
                }

    def _buffer(self, document: Document) -> OpenDocument | None:
        """What a document is open in; None for a file on disk."""
        return self.opened if document is self.opened.document else self.session.files.open_as(document)

    def _location(self, document: Document, span: Span) -> dict[str, Any]:
        buffer, encoding = self._buffer(document), self.session.encoding
        if buffer is not None:
            location = buffer.location(span, encoding)
        else:
            location = types.Location(from_fs_path(document.path) or "", to_range(document, span, encoding))
        start, end = location.range.start, location.range.end
        return {
            "uri": location.uri,
            "range": {
                "start": {"line": start.line, "character": start.character},
                "end": {"line": end.line, "character": end.character},
            },
        }


def _in_file(document: Document, span: Span) -> tuple[Document, Span]:
    """The file that a span is in, and the span there."""
    if not isinstance(document, ProjectDocument):
        return document, span
    ((member, (edit,)),) = document.by_member([Edit(span, "")])
    return member, edit.span
