"""The commands that a client can have run, one a file.

Each file has `run(server, arguments, work)`, which gives what the client gets back; it is loaded when it is first run. A new
command is a new file, and its name in the list here."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

DISTRIBUTE = "horovodize.distribute"

_MODULES = {
    DISTRIBUTE: "distribute",
    "horovodize.distributeWorkspace": "distribute_workspace",
    "horovodize.preview": "preview",
    "horovodize.explain": "explain",
    "horovodize.debugInformation": "debug_information",
    "horovodize.reindex": "reindex",
}
NAMES = tuple(sorted(_MODULES))


def command(name: str) -> ModuleType | None:
    """The module of a command; None: there is no such command."""
    return import_module(f"{__name__}.{_MODULES[name]}") if name in _MODULES else None
