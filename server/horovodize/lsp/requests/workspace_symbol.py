"""workspace/symbol: the training loops of open documents, as they are in the editor, and of the workspace's other files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.convert import to_place_range
from horovodize.lsp.progress import Work
from horovodize.lsp.summaries import uri_of

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_SYMBOL
OPTIONS = types.WorkspaceSymbolOptions()
_NAME = "{} training loop"


def handle(server: HorovodizeServer, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
    """Those whose name or function has the query's characters in their order, in any case, as editors match."""
    work = Work(server, params.work_done_token)
    symbols: dict[tuple[str, int, int], types.WorkspaceSymbol] = {}
    for symbol in (*_of_documents(server, work), *_of_files(server)):
        if _has(f"{symbol.name} {symbol.container_name or ''}", params.query):
            symbols.setdefault(_place(symbol), symbol)
    return [symbols[place] for place in sorted(symbols)]


def _of_documents(server: HorovodizeServer, work: Work) -> Iterator[types.WorkspaceSymbol]:
    session = server.session
    for opened in session.documents:
        work.check()
        analysis = opened.analysis(opened.settings.options)
        for span, loop in {loop.span: loop for loop in reversed(analysis.summary.loops)}.items():
            location = opened.location(span, session.encoding)
            yield _symbol(location, _NAME.format(loop.kind.label), loop.function)


def _of_files(server: HorovodizeServer) -> Iterator[types.WorkspaceSymbol]:
    session = server.session
    for folder in server.index.folders:
        for path, summary in server.index.summaries(folder.path):
            for loop in summary.loops:
                uri = uri_of(session, loop.place.file or path)
                if session.get(uri) is None:
                    location = types.Location(uri, to_place_range(loop.place, session.encoding))
                    yield _symbol(location, _NAME.format(loop.kind), loop.function)


def _symbol(location: types.Location, name: str, function: str) -> types.WorkspaceSymbol:
    return types.WorkspaceSymbol(location, name, types.SymbolKind.Event, container_name=function or None)


def _has(text: str, query: str) -> bool:
    rest = iter(text.casefold())
    return all(character in rest for character in query.casefold() if not character.isspace())


def _place(symbol: types.WorkspaceSymbol) -> tuple[str, int, int]:
    assert isinstance(symbol.location, types.Location)
    start = symbol.location.range.start
    return symbol.location.uri, start.line, start.character
