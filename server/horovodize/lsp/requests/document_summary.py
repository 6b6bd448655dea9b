"""horovodize/documentSummary: what an open document trains with: a file as `summaries` has it; null for what is not open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcInvalidParams

from horovodize.lsp.params import value_at
from horovodize.lsp.summaries import file_json, summary_of, wanted

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = "horovodize/documentSummary"
OPTIONS = None


def handle(server: HorovodizeServer, params: Any) -> dict[str, Any] | None:
    uri = value_at(params, "textDocument", "uri")
    if not isinstance(uri, str):
        raise JsonRpcInvalidParams(f"{METHOD} takes {{textDocument: {{uri}}}}")
    opened = server.session.get(uri)
    if opened is None:
        return None
    summary = wanted(summary_of(server.session, opened), opened.settings)
    return file_json(server.session, summary, opened.uri)
