"""workspace/didChangeConfiguration: takes settings that the client pushes, or asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_DID_CHANGE_CONFIGURATION
OPTIONS = None


def handle(server: HorovodizeServer, params: types.DidChangeConfigurationParams) -> None:
    if server.session.client.answers_configuration:
        server.configuration.pull(server)  # what is pushed may hold every setting of the editor, or none
    else:
        server.configuration.push(server, params.settings)
