"""What the arguments of commands mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException, JsonRpcInvalidParams

from horovodize.lsp.session import OpenDocument

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


def documents(server: HorovodizeServer, arguments: Sequence[Any]) -> list[OpenDocument]:
    """The open documents that arguments name, each once: a URI, or `{"uri": …, "version": …}` for that version and no other.

    Raises JsonRpcInvalidParams for other things, JsonRpcException for a document that is not open, JsonRpcContentModified for
    another version."""
    found: dict[str, OpenDocument] = {}
    for argument in arguments:
        uri, version = _named(argument)
        opened = server.session.get(uri)
        if opened is None:
            raise JsonRpcException(f"{uri} is not an open Python document", types.LSPErrorCodes.RequestFailed)
        if version is not None and opened.version != version:
            raise JsonRpcContentModified("the document has changed since")
        found[opened.uri] = opened
    return list(found.values())


def _named(argument: Any) -> tuple[str, int | None]:
    match argument:
        case str(uri):
            return uri, None
        case {"uri": str(uri), "version": int(version)}:
            return uri, version
        case {"uri": str(uri)}:
            return uri, None
    raise JsonRpcInvalidParams(f"{argument!r} names no document")
