"""initialized: asks for the settings, and to be told when they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.settings import SECTION

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

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
