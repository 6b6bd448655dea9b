"""What is found out of a value or a decision: the same on every rank, not the same, or not to be seen."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeAlias

from horovodize.facts.differences.sources import Source


@dataclass(frozen=True)
class Uniform:
    """The same on every rank that comes to it."""


@dataclass(frozen=True)
class Varies:
    """Another one on some rank: by what is read at `where`."""

    kind: Source
    where: ast.AST

    @property
    def why(self) -> str:
        """The reason, as part of a sentence: "it depends on the clock, …"."""
        return self.kind.value


@dataclass(frozen=True)
class Unknown:
    """May be either: what `where` gives can't be followed. `why` says so as part of a sentence."""

    why: str
    where: ast.AST


Answer: TypeAlias = Uniform | Varies | Unknown
