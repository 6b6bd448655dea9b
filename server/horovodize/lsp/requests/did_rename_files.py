"""workspace/didRenameFiles: the index follows files and folders that the user renames in the editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path

from horovodize.lsp.file_operations import FILES_AND_FOLDERS

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_DID_RENAME_FILES
OPTIONS = FILES_AND_FOLDERS


def handle(server: HorovodizeServer, params: types.RenameFilesParams) -> None:
    uris = [uri for file in params.files for uri in (file.old_uri, file.new_uri)]
    server.index.changed(path for uri in uris if (path := to_fs_path(uri)))
