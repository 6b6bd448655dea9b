"""Where the settings come from: the start of the session, then whatever the client last pushed or
answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp.diagnostics import publish
from horovodize.lsp.settings import SECTION, read

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


class Configuration:
    """The settings' sources, later over earlier."""

    def __init__(self, initial: object = None) -> None:
        self._initial = initial
        self._current: object = None
        self._told: set[str] = set()

    def pull(self, server: HorovodizeServer) -> None:
        """Asks the client, if it answers; the settings are in force when the answer is there."""
        if server.session.client.answers_configuration:
            question = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
            server.workspace_configuration(
                question, lambda answer: self._set(server, answer[0] if answer else None)
            )

    def push(self, server: HorovodizeServer, settings: object) -> None:
        """Takes settings that the client sent: its section of ours, alone or among others."""
        if isinstance(settings, Mapping) and SECTION in settings:
            settings = settings[SECTION]
        if settings is not None:
            self._set(server, settings)

    def _set(self, server: HorovodizeServer, settings: object) -> None:
        self._current = settings
        self.apply(server)

    def apply(self, server: HorovodizeServer) -> None:
        """Puts the settings in force and tells the user, once, of those that are wrong."""
        reading = read(self._initial, self._current)
        for message in reading.wrong:
            if message not in self._told:
                server.show(message)
        if reading.unknown:
            server.log(f"settings that are not the server's: {', '.join(reading.unknown)}")
        self._told = set(reading.wrong)
        if reading.settings != server.session.settings:
            server.session.settings = reading.settings
            for document in server.session.documents:
                publish(server, document.uri)
