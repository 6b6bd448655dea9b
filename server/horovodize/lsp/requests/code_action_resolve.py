"""codeAction/resolve: the edit of a distribution, for the version that it was offered for and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from horovodize.lsp import distribution

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.CODE_ACTION_RESOLVE
OPTIONS = None


def handle(server: HorovodizeServer, params: types.CodeAction) -> types.CodeAction:
    if params.edit is not None:
        return params
    data = params.data
    if not isinstance(data, dict) or not isinstance(data.get("uri"), str):
        raise JsonRpcInvalidParams("not an action of this server")
    opened = server.session.get(data["uri"])
    if opened is None or opened.version != data.get("version"):
        raise JsonRpcContentModified("the document has changed since the action was offered")
    params.edit = distribution.edit_of(server.session, opened)
    if params.edit is None:  # a setting changed what can be done, the text stayed
        raise JsonRpcContentModified("the document can no longer be distributed")
    return params
