"""Distributing all scripts of some folders by one edit: see `distribute_together`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from horovodize.lsp import distribution
from horovodize.lsp.session import OpenDocument, Session
from horovodize.options import Options
from horovodize.plan import Plan, Reason, Unchanged
from horovodize.source import Document

if TYPE_CHECKING:
    from horovodize.distribute_project import Examination


@dataclass(frozen=True)
class Script:
    """A file that trains, or that has others do so. `opened`: the buffer that it is in, if any."""

    path: str
    opened: OpenDocument | None
    examined: Examination

    @property
    def members(self) -> list[Document]:
        """The modules that it runs with, and itself."""
        return self.examined.members


@dataclass
class Distribution:
    """What becomes of scripts: `plans` go together into one edit; the others say why they have none."""

    plans: list[tuple[Script, Plan]] = field(default_factory=list)
    distributed: list[str] = field(default_factory=list)
    refused: list[tuple[Script, Reason, Document]] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)


def read_script(session: Session, path: str, opened: OpenDocument | None, options: Options) -> Script | None:
    """A script in its buffer or on disk, with what it imports; None where it can't be read."""
    from horovodize.distribute_project import Examination

    if opened is not None:
        examined = distribution.script_of(session, opened)
    else:
        document = session.disk.load(path)
        examined = Examination(document, session.files.load, options) if document is not None else None
    return Script(path, opened, examined) if examined is not None else None


def distribute_all(scripts: list[Script]) -> Distribution:
    """Puts the plans of scripts together."""
    from horovodize.distribute_together import Covered, Together

    result, together = Distribution(), Together()
    for script in sorted(scripts, key=lambda script: (-len(script.members), script.path)):
        outcome = together.admit(script.examined.script, script.members, script.examined.outcome)
        if isinstance(outcome, Plan):
            result.plans.append((script, outcome))
        elif isinstance(outcome, Unchanged) or (isinstance(outcome, Covered) and not outcome.changed):
            result.unchanged.append(script.path)
        elif not isinstance(outcome, Covered):
            result.refused += [(script, reason, outcome.document) for reason in outcome.reasons]
    result.distributed = together.changed
    return result
