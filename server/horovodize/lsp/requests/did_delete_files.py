"""workspace/didDeleteFiles: the index forgets files and folders that the user deletes in the editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path

from horovodize.lsp.file_operations import FILES_AND_FOLDERS

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_DID_DELETE_FILES
OPTIONS = FILES_AND_FOLDERS


def handle(server: HorovodizeServer, params: types.DeleteFilesParams) -> None:
    server.index.changed(path for file in params.files if (path := to_fs_path(file.uri)))
