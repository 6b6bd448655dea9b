"""workspace/didChangeWatchedFiles: the index follows files that change on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidChangeWatchedFilesParams) -> None:
    paths = {path for event in params.changes if (path := to_fs_path(event.uri))}
    if any(os.path.basename(path) == "pyproject.toml" for path in paths):
        server.configuration.reread(server)
    server.index.changed(paths)
