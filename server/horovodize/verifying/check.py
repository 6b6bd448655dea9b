"""One thing that is looked at when runs are compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `broken` and `notes` say what was found; with neither it holds.

    length    whether how much was trained is broken
    added_up  whether gradients are added up where they should be averaged, unless the losses were divided before"""

    name: str
    broken: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seen: bool = True
    length: bool = False
    added_up: bool = False

    @property
    def holds(self) -> bool:
        return not self.broken
