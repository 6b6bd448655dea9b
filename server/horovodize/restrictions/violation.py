"""A place where a document breaks a restriction."""

from __future__ import annotations

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
    deprecated: it is about something that later versions have no more."""

    code: str
    name: str
    message: str
    span: Span
    severity: Severity = Severity.WARNING
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    deprecated: bool = False
