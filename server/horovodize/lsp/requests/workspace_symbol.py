"""workspace/symbol: the training loops of the open documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_SYMBOL
OPTIONS = types.WorkspaceSymbolOptions()


def handle(server: HorovodizeServer, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
    """Those whose name or function has the query's characters in their order, in any case, as editors match."""
    session = server.session
    symbols: list[types.WorkspaceSymbol] = []
    for opened in session.documents:
        analysis = opened.analysis(opened.settings.options)
        for span, loop in {loop.span: loop for loop in reversed(analysis.summary.loops)}.items():
            name = f"{loop.kind.label} training loop"
            if _has(f"{name} {loop.function}", params.query):
                symbols.append(
                    types.WorkspaceSymbol(
                        opened.location(span, session.encoding),
                        name,
                        types.SymbolKind.Event,
                        container_name=loop.function or None,
                    )
                )
    return sorted(symbols, key=_place)


def _has(text: str, query: str) -> bool:
    rest = iter(text.casefold())
    return all(character in rest for character in query.casefold() if not character.isspace())


def _place(symbol: types.WorkspaceSymbol) -> tuple[str, int, int]:
    assert isinstance(symbol.location, types.Location)
    start = symbol.location.range.start
    return symbol.location.uri, start.line, start.character
