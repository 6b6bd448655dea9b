"""workspace/didChangeWatchedFiles: the index follows files that change on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidChangeWatchedFilesParams) -> None:
    for path in {to_fs_path(event.uri) for event in params.changes}:
        if path is not None:
            server.index.changed(path)
