"""Several scripts that are distributed at once: a module that they share is changed once.

Where scripts want it changed in different ways, the first one has it, and the others are refused: half of each would train
wrongly. Give the scripts in an order in which those that import others come first."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from horovodize.distribute_project import files
from horovodize.plan import Plan, Reason, Refusal, Unchanged
from horovodize.source import Document, Edit, Span

_OTHERWISE = "HVD006"


@dataclass(frozen=True)
class Covered:
    """Nothing is left to be done about a file: a script that is distributed runs it, `by` its path. `changed`: that script
    changes it, too."""

    by: str
    changed: bool


class Together:
    """The scripts so far. `path_of` says which file a document is, where its `path` does not."""

    def __init__(self, path_of: Callable[[Document], str] = lambda document: document.path) -> None:
        self._path_of = path_of
        self._edits: dict[str, list[Edit]] = {}
        self._run_by: dict[str, str] = {}

    @property
    def changed(self) -> list[str]:
        """The files that are changed, by path."""
        return sorted(self._edits)

    def admit(
        self, script: Document, members: Sequence[Document], outcome: Plan | Refusal | Unchanged
    ) -> Plan | Refusal | Unchanged | Covered:
        """What remains of the outcome of a script beside those of the scripts before it. `members`: the modules that it runs
        with, itself included."""
        path = self._path_of(script)
        by = self._run_by.get(path)
        if by is not None and not isinstance(outcome, Unchanged):
            return Covered(by, path in self._edits)
        if isinstance(outcome, Refusal):
            return outcome
        if isinstance(outcome, Unchanged):
            self._run(members, path)
            return outcome
        wanted = {self._path_of(file.document): list(file.edits) for file in files(outcome) if file.edits}
        clash = next((p for p, edits in wanted.items() if self._edits.get(p, edits) != edits), None)
        if clash is not None:
            name, other = os.path.basename(clash), os.path.basename(self._run_by[clash])
            message = (
                f"`{name}` is run by `{other}`, too, which is distributed now and needs it otherwise: look at that first, then "
                "distribute this script by itself"
            )
            return Refusal(script, [Reason(_OTHERWISE, message, Span(0, 0))])
        self._edits.update(wanted)
        self._run(members, path)
        return outcome

    def _run(self, members: Sequence[Document], script: str) -> None:
        for member in members:
            self._run_by.setdefault(self._path_of(member), script)
