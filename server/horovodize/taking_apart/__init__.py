"""Takes statements apart in which a training step is buried, writes out what a `fit` is given by `*` and `**`, and brings what
rules make of the result back to the text before.

The statements are printed again by LibCST, which is imported when one is met; everything else stays on `ast`, and every byte
outside those statements stays as it was."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document
from horovodize.source.project import ProjectDocument
from horovodize.summary import ModuleSummary, summarize
from horovodize.summary.buried import Buried, Buries, Form
from horovodize.summary.project import ProjectSummary
from horovodize.taking_apart.back import Back
from horovodize.taking_apart.passed import written_out
from horovodize.taking_apart.together import one_after_the_other

_MOST_ROUNDS = 24
_NOTHING = ast.Constant(None)


@dataclass(frozen=True)
class TakenApart:
    """A script after that.

    before   what was known of it as it was
    summary  what is known of it now"""

    before: ModuleSummary
    summary: ModuleSummary

    @cached_property
    def _back(self) -> Back:
        return Back(self.before, self.summary.document)

    def back(self, outcome: Plan | Refusal | Unchanged) -> Plan | Refusal | Unchanged:
        """What distributing the script now comes to, as said of the script as it was."""
        return self._back.outcome(outcome)


def take_apart(summary: ModuleSummary, lines: Sequence[ast.stmt] = ()) -> TakenApart | None:
    """A script whose training steps are statements of their own, as far as that can be, and whose `lines` have one
    statement each; None where nothing is buried, or LibCST
    is missing."""
    if summary.module is None or summary.already is not None or not summary.loops:
        return None
    current, parted = summary, [Buried(Form.PARTED, s, _NOTHING, _NOTHING) for s in lines]
    for written in (written_out, one_after_the_other):
        if changed := written(current):
            current = _again(current, current.document.changed_by(changed))
    for _ in range(_MOST_ROUNDS):
        found = parted or Buries(current).all
        if not found:
            break
        try:
            from horovodize.taking_apart.statements import edits_for
        except ImportError:  # a Python without it: in a browser
            break
        edits = edits_for(current, found)
        if not edits:
            break
        parted = []
        current = _again(current, current.document.changed_by(edits))
    return TakenApart(summary, current) if current is not summary else None


def _again(summary: ModuleSummary, document: Document) -> ModuleSummary:
    if isinstance(summary, ProjectSummary) and isinstance(document, ProjectDocument):
        return summary.with_members(document.members)
    return summarize(document)
