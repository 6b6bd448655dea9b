"""horovodize.distribute: applies the edit that distributes a document. Arguments: its URI, or `{"uri": …, "version": …}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from horovodize.lsp import distribution
from horovodize.lsp.commands.arguments import documents
from horovodize.lsp.progress import Work

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


def run(server: HorovodizeServer, arguments: Sequence[Any], work: Work) -> None:
    """Raises JsonRpcException with the reason where there is no such edit."""
    opened = documents(server, arguments)
    if len(opened) != 1:
        raise JsonRpcInvalidParams("horovodize.distribute takes the URI of one document")
    if not server.session.client.applies_edits:
        raise JsonRpcException("the client applies no edits of the server", types.LSPErrorCodes.RequestFailed)
    edit = distribution.edit_of(server.session, opened[0])
    if edit is None:
        reason = distribution.subject_of(server.session, opened[0]).obstacle
        raise JsonRpcException(reason or "it can't be distributed", types.LSPErrorCodes.RequestFailed)
    work.check()
    server.apply_edit(edit, distribution.subject_of(server.session, opened[0]).title)
