"""initialized: asks for the settings, and to be told when they or files change; begins to read the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.project_files import folders_of
from horovodize.lsp.settings import SECTION

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

# Python files, and what says which of them count.
WATCHED = ("**/*.py", "**/.gitignore", "**/pyproject.toml")
METHOD = types.INITIALIZED
OPTIONS = None


def handle(server: HorovodizeServer, params: types.InitializedParams) -> None:
    server.configuration.apply(server)
    if server.session.client.registers_configuration:
        registration = types.Registration(
            "settings",
            types.WORKSPACE_DID_CHANGE_CONFIGURATION,
            types.DidChangeConfigurationRegistrationOptions(section=SECTION),
        )
        server.client_register_capability(types.RegistrationParams([registration]))
    server.configuration.pull(server)
    if server.session.client.registers_watching:
        # a folder that comes or goes is told as one, whatever is in it
        watchers = [
            types.FileSystemWatcher("**/*", kind) for kind in (types.WatchKind.Create, types.WatchKind.Delete)
        ]
        watchers += [types.FileSystemWatcher(pattern, types.WatchKind.Change) for pattern in WATCHED]
        registration = types.Registration(
            "files",
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            types.DidChangeWatchedFilesRegistrationOptions(watchers),
        )
        server.client_register_capability(types.RegistrationParams([registration]))
    server.index.follow(folders_of(server.workspace))
