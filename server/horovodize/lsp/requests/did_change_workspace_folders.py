"""workspace/didChangeWorkspaceFolders: files on disk are read in these folders only; each may have settings of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.project_files import folders_of

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    folders = folders_of(server.workspace)  # pygls keeps them
    server.session.disk.serve(folders)
    server.configuration.follow(folders)
    server.configuration.pull(server)
    server.index.follow(folders)
