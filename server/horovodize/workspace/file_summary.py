"""What is kept of one file: small, and the same after a way through JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from horovodize.workspace.place import Place


class State(str, Enum):
    """What can be said of a file's training in a word.

    DISTRIBUTED    it uses Horovod
    DISTRIBUTABLE  nothing stands in the way
    BLOCKED        it trains, and can't be distributed as it is
    UNREADABLE     it does not parse
    NONE           it does not train"""

    DISTRIBUTED = "distributed"
    DISTRIBUTABLE = "distributable"
    BLOCKED = "blocked"
    UNREADABLE = "unreadable"
    NONE = "none"


@dataclass(frozen=True)
class Role:
    """What plays a role in a training loop: "optimizer", "model", "dataset", … `name` is "" where it has none."""

    role: str
    name: str
    place: Place
    detail: str


@dataclass(frozen=True)
class Loop:
    """A training loop. `kind` as people call it ("Keras"), `function` "" at module level, `description` in a line."""

    kind: str
    place: Place
    function: str
    description: str
    roles: tuple[Role, ...] = ()


@dataclass(frozen=True)
class Restriction:
    """A finding: what stands in the way of distributing, or should be known before. `severity` as that of a violation."""

    code: str
    name: str
    message: str
    place: Place
    severity: str
    deprecated: bool = False


@dataclass(frozen=True)
class FileSummary:
    """What is known of one file.

    problem  why it is BLOCKED or UNREADABLE, in a sentence; "" otherwise
    project  the other files that distributing it would change, by their paths
    ran      of a script's modules, by their paths, the lines (from 0, the last included) that it may run: what is found in them
             together with the script counts, and not what is found in the module alone"""

    state: State = State.NONE
    problem: str = ""
    loops: tuple[Loop, ...] = ()
    restrictions: tuple[Restriction, ...] = ()
    project: tuple[str, ...] = ()
    ran: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it is worth showing: it trains, or can't be read."""
        return self.state is not State.NONE

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state.value,
            "problem": self.problem,
            "loops": [
                [
                    loop.kind,
                    loop.place.to_json(),
                    loop.function,
                    loop.description,
                    [[role.role, role.name, role.place.to_json(), role.detail] for role in loop.roles],
                ]
                for loop in self.loops
            ],
            "restrictions": [
                [
                    found.code,
                    found.name,
                    found.message,
                    found.place.to_json(),
                    found.severity,
                    found.deprecated,
                ]
                for found in self.restrictions
            ],
            "project": list(self.project),
            "ran": [[path, [list(lines) for lines in found]] for path, found in self.ran],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> FileSummary:
        """Raises KeyError, TypeError and ValueError for what `to_json` did not make."""
        loops = []
        for kind, place, function, description, roles in data["loops"]:
            found = tuple(Role(r, name, Place.from_json(at), detail) for r, name, at, detail in roles)
            loops.append(Loop(kind, Place.from_json(place), function, description, found))
        restrictions = tuple(
            Restriction(code, name, message, Place.from_json(place), severity, deprecated)
            for code, name, message, place, severity, deprecated in data["restrictions"]
        )
        ran = tuple((str(path), tuple((int(a), int(b)) for a, b in lines)) for path, lines in data["ran"])
        return FileSummary(
            State(data["state"]),
            str(data["problem"]),
            tuple(loops),
            restrictions,
            tuple(data["project"]),
            ran,
        )
