"""A place where a document breaks a restriction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from horovodize.source import Edit, Span


class Severity(str, Enum):
    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


@dataclass(frozen=True)
class Related:
    """Another place that belongs to a violation, and what is there."""

    message: str
    span: Span


@dataclass(frozen=True)
class Fix:
    """A safe way to mend a violation: `title` as the light bulb shows it."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Violation:
    """A finding.

    code "HVD105", name its slug ("aliased-optimizer"), message for a reader at that place, span in the document.
    deprecated: it is about something that later versions have no more.
    blocks: no rule can make up for it, so distributing refuses, also where a comment suppresses it.
    asks: a plan that doesn't answer it asks the user."""

    code: str
    name: str
    message: str
    span: Span
    severity: Severity = Severity.WARNING
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    deprecated: bool = False
    blocks: bool = False
    asks: bool = True


@dataclass(frozen=True)
class Findings:
    """What is found in a document: `reported`, and what comments suppress."""

    reported: Sequence[Violation]
    suppressed: Sequence[Violation] = ()

    @property
    def blocking(self) -> list[Violation]:
        """What distributing is refused for. A comment hides a finding; it makes nothing right."""
        found = [v for v in (*self.reported, *self.suppressed) if v.blocks and v.severity is Severity.WARNING]
        return sorted(found, key=lambda v: (v.span, v.code, v.message))

    @property
    def open(self) -> list[Violation]:
        """The reported warnings that a plan has to answer. Who suppresses one has answered it."""
        return [v for v in self.reported if v.severity is Severity.WARNING and v.asks and not v.blocks]
