"""codeAction/resolve: the edit of an action, for the version that it was offered for and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException, JsonRpcInvalidParams

from horovodize.lsp import distribution, fixing, suppression
from horovodize.lsp.diagnostics import reported
from horovodize.source import Span

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.CODE_ACTION_RESOLVE
OPTIONS = None


def handle(server: HorovodizeServer, params: types.CodeAction) -> types.CodeAction:
    if params.edit is not None:
        return params
    session = server.session
    match params.data:
        case {"uri": str(uri), "version": int(version)}:
            opened = session.get(uri)
        case _:
            raise JsonRpcInvalidParams("not an action of this server")
    if opened is None or opened.version != version:
        raise JsonRpcContentModified("the document has changed since the action was offered")
    match params.data:
        case {"ignore": [str(code), int(start), int(end)]}:
            params.edit = suppression.edit_of(session, opened, code, Span(start, end))
        case {"fixAll": str(code)}:
            params.edit = fixing.edit_of(session, opened, reported(session, opened), code or None)
        case _:
            params.edit = distribution.edit_of(session, opened)
            if params.edit is None:  # the hint promised too much, or a setting has changed since
                reason = distribution.subject_of(session, opened).obstacle or "it can't be distributed"
                raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed)
    return params
