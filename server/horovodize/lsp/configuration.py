"""Where the settings come from: `pyproject.toml`, the start of the session, then whatever the client last pushed or answered,
for everything or for a folder of the workspace. Later ones win, value by value."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from horovodize.configuration import ConfigurationError, FileSettings, nearest_settings
from horovodize.lsp import diagnostics
from horovodize.lsp.project_files import Folder
from horovodize.lsp.refresh import refresh_lenses_and_hints
from horovodize.lsp.settings import SECTION, Settings, layer_of, read
from horovodize.paths import is_below
from horovodize.world.versions import Versions

if TYPE_CHECKING:
    from horovodize.files import Exclude
    from horovodize.lsp.connection import HorovodizeServer
    from horovodize.lsp.session import OpenDocument


# Options of the start that are no settings.
_NO_SETTINGS = ("workspaceSummary",)


class Configuration:
    """The settings' sources."""

    def __init__(self, initial: object = None) -> None:
        if isinstance(initial, Mapping):
            initial = {name: value for name, value in initial.items() if name not in _NO_SETTINGS}
        self._initial = initial
        self._current: object = None
        self._of_folders: dict[str, object] = {}  # by the folder's URI, as the client gives it
        self._files: dict[Path, FileSettings] = {}
        self._stamps: dict[Path, tuple[int, int] | None] = {}
        self._around: dict[tuple[Path, str], Versions] = {}  # kept until settings change
        self._tops: list[str] = []  # folders of the workspace, on disk
        self._told: set[str] = set()

    @property
    def closed_files(self) -> bool:
        """Whether files that are not open are reported on anywhere."""
        layers = (
            (self._initial, self._current, of_folder) for of_folder in (None, *self._of_folders.values())
        )
        return any(read(*layer).settings.closed_files for layer in layers)

    def follow(self, folders: Sequence[Folder]) -> None:
        """These are the folders of the workspace."""
        self._tops = [folder.path.rstrip(os.sep) + os.sep for folder in folders]

    def pull(self, server: HorovodizeServer) -> None:
        """Asks the client, if it answers; the settings are in force when the answer is there."""
        if not server.session.client.answers_configuration:
            return
        folders = [folder.uri for folder in server.workspace.folders.values()]
        scopes = [None, *folders]
        question = types.ConfigurationParams(
            [types.ConfigurationItem(scope_uri=scope, section=SECTION) for scope in scopes]
        )

        def answered(answer: Sequence[object]) -> None:
            self._current = answer[0] if answer else None
            self._of_folders = dict(zip(folders, answer[1:], strict=False))
            self.apply(server)

        server.workspace_configuration(question, answered)

    def push(self, server: HorovodizeServer, settings: object) -> None:
        """Takes settings that the client sent: its section of ours, alone or among others."""
        if isinstance(settings, Mapping) and SECTION in settings:
            settings = settings[SECTION]
        if settings is not None:
            self._current = settings
            self.apply(server)

    def apply(self, server: HorovodizeServer) -> None:
        """Puts the settings in force, those of files read again, and tells the user, once, of those that are wrong."""
        self._files.clear()
        self._stamps.clear()
        self._around.clear()
        wrong: list[str] = []
        before = [server.session.settings, *(opened.settings for opened in server.session.documents)]
        general = read(self._initial, self._current)
        server.session.settings = general.settings
        wrong += general.wrong
        if general.unknown:
            names = ", ".join(general.unknown)
            server.log(f"settings that are not the server's: {names}", types.MessageType.Log)
        for opened in server.session.documents:
            opened.settings = self._settings_of(opened, wrong)
        self._tell(server, wrong)
        self._told &= set(wrong)  # what was fixed and is broken again is told again
        server.index.settings_changed()
        if before != [server.session.settings, *(opened.settings for opened in server.session.documents)]:
            diagnostics.refresh(server)
            refresh_lenses_and_hints(server)

    def reread(self, server: HorovodizeServer) -> None:
        """Puts settings in force that were written to files since they were read."""
        if any(_stamp(folder) != stamp for folder, stamp in self._stamps.items()):
            self.apply(server)

    def attend(self, server: HorovodizeServer, opened: OpenDocument) -> None:
        """Gives a document that was just opened its settings."""
        self.reread(server)
        wrong: list[str] = []
        opened.settings = self._settings_of(opened, wrong)
        self._tell(server, wrong)

    def settings_at(self, path: str) -> Settings:
        """The settings of a file on disk."""
        return self._settings(from_fs_path(path) or "", Path(path).parent, [])

    def rules_at(self, path: str) -> tuple[Settings, Exclude]:
        """The settings of a file on disk, and what leaves files of its folder out: the patterns of the client count from the
        folder of the workspace, those of a `pyproject.toml` from its own."""
        from horovodize.files import Exclude  # the first answer does not need it

        settings = self.settings_at(path)
        uri, top = from_fs_path(path) or "", ""
        given = read(self._initial, self._current, self._of_folders.get(self._folder(uri))).settings.exclude
        if given is not None:
            top = max((f for f in self._tops if path.startswith(f)), key=len, default="")
        else:
            with contextlib.suppress(ConfigurationError):
                top = str(nearest_settings(Path(path).parent, self._files).folder or "")
        return settings, Exclude(settings.exclude or (), top)

    def _settings_of(self, opened: OpenDocument, wrong: list[str]) -> Settings:
        return self._settings(opened.uri, opened.folder, wrong)

    def _settings(self, uri: str, folder: Path | None, wrong: list[str]) -> Settings:
        layers = [self._initial, self._current, self._of_folders.get(self._folder(uri))]
        if folder is not None:
            for above in (folder, *folder.parents):
                if above not in self._stamps:
                    self._stamps[above] = _stamp(above)
            try:
                found = nearest_settings(folder, self._files)
                wrong += found.warnings
                layers.insert(0, layer_of(found))
            except ConfigurationError as e:
                wrong.append(f"{e}; the settings of this file are not used")
        reading = read(*layers)
        wrong += reading.wrong
        settings = reading.settings
        if folder is None or settings.options.tensorflow:
            return settings
        python = os.path.join(self._top_of(folder), settings.python) if settings.python else ""
        around = self._surroundings(folder, python)
        return replace(settings, options=replace(settings.options, around=around))

    def _surroundings(self, folder: Path, python: str) -> Versions:
        if (folder, python) not in self._around:
            from horovodize.world.surroundings import surroundings  # the first answer does not need it

            self._around[folder, python] = surroundings(folder, python)
        return self._around[folder, python]

    def _top_of(self, folder: Path) -> str:
        """The folder of the workspace that another one lies in; a path that is none where it lies in none."""
        around = [top for top in self._tops if is_below(f"{folder}{os.sep}", top)]
        return max(around, key=len, default="")

    def _folder(self, uri: str) -> str:
        """The innermost folder with settings of its own that a document lies in; "" for none."""
        around = [folder for folder in self._of_folders if uri.startswith(folder.rstrip("/") + "/")]
        return max(around, key=len, default="")

    def _tell(self, server: HorovodizeServer, wrong: Sequence[str]) -> None:
        for message in dict.fromkeys(wrong):
            if message not in self._told:
                self._told.add(message)
                server.show(message)


def _stamp(folder: Path) -> tuple[int, int] | None:
    """What tells one state of a folder's `pyproject.toml` from another; None: there is none."""
    try:
        status = (folder / "pyproject.toml").stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
