"""Which scripts asked for which files when their imports were followed, and what those held then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.workspace.cache import Asked


class Imports:
    """What the imports of scripts led to, there or not, from either end."""

    def __init__(self) -> None:
        self._asked: dict[str, Asked] = {}  # by script
        self._askers: dict[str, set[str]] = {}  # by what it asked for

    def asked(self, script: str) -> Mapping[str, str | None]:
        """What a script asked for, with what tells its content; None: there was nothing."""
        return self._asked.get(script, {})

    def askers(self, path: str) -> set[str]:
        """The scripts whose imports lead to a file."""
        return set(self._askers.get(path, ()))

    def lead_to(self, path: str) -> bool:
        """Whether the imports of a script lead to a file."""
        return path in self._askers

    def keep(self, script: str, asked: Asked) -> None:
        """A script's imports were followed (again)."""
        self.forget(script)
        self._asked[script] = asked
        for path in asked:
            self._askers.setdefault(path, set()).add(script)

    def forget(self, script: str) -> None:
        """Nothing is known of a script any more."""
        for path in self._asked.pop(script, ()):
            askers = self._askers[path]
            askers.discard(script)
            if not askers:
                del self._askers[path]
