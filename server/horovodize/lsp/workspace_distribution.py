"""Distributing all scripts of some folders by one edit.

A script is distributed together with the modules that it imports, so scripts that import others come first. A module that is
changed for one script is not changed again: where the next script would change it otherwise, that one is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from horovodize.lsp import distribution
from horovodize.lsp.session import OpenDocument, Session
from horovodize.options import Options
from horovodize.plan import Plan, Reason, Refusal, Unchanged
from horovodize.source import Document, Edit, Span

if TYPE_CHECKING:
    from horovodize.distribute_project import Examination

_ELSEWHERE = "HVD006"


@dataclass(frozen=True)
class Script:
    """A file that trains, or that has others do so. `opened`: the buffer that it is in, if any."""

    path: str
    opened: OpenDocument | None
    examined: Examination

    @property
    def outcome(self) -> Plan | Refusal | Unchanged:
        return self.examined.outcome

    @property
    def members(self) -> list[str]:
        """The paths of the modules that it runs with, and its own."""
        together = self.examined.together
        return [m.path for m in together.document.members] if together is not None else [self.path]


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
    result = Distribution()
    edits: dict[str, list[Edit]] = {}
    run_by: dict[str, str] = {}  # modules of scripts that are distributed
    for script in sorted(scripts, key=lambda script: (-len(script.members), script.path)):
        outcome = script.outcome
        if isinstance(outcome, Unchanged):
            result.unchanged.append(script.path)
        elif isinstance(outcome, Plan):
            _take(result, edits, run_by, script, outcome)
        elif script.path in edits:
            continue  # changed for a script that imports it
        elif script.path in run_by:
            result.unchanged.append(script.path)
        else:
            result.refused += [(script, reason, outcome.document) for reason in outcome.reasons]
    result.distributed = sorted(edits)
    return result


def _take(
    result: Distribution, edits: dict[str, list[Edit]], run_by: dict[str, str], script: Script, plan: Plan
) -> None:
    if script.path in edits:
        return
    own = dict(_edits(plan))
    clash = next((path for path, wanted in own.items() if edits.get(path, wanted) != wanted), None)
    if script.path in run_by:
        clash = script.path
    if clash is not None:
        other = os.path.basename(run_by[clash])
        message = (
            f"`{os.path.basename(clash)}` is run by `{other}`, too, which is distributed now and needs it otherwise: look "
            "at that first, then distribute this script by itself"
        )
        result.refused.append((script, Reason(_ELSEWHERE, message, Span(0, 0)), script.examined.script))
        return
    edits.update(own)
    run_by.update(dict.fromkeys(script.members, script.path))
    result.plans.append((script, plan))


def _edits(plan: Plan) -> Iterator[tuple[str, list[Edit]]]:
    from horovodize.distribute_project import files

    for file in files(plan):
        if file.edits:
            yield file.document.path, list(file.edits)
