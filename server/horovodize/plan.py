"""What distributing a document comes to: a plan of changes, a refusal with its reasons, or nothing to do.

A diff, a workspace edit, a JSON report and an explanation are all views of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from horovodize.source import Document, Edit, Move, Span, compose
from horovodize.source.edits import apply


class Decision(Enum):
    """What a change decides about the numbers and the work of a script."""

    SHARED = "each rank takes its own part of the data, or of the turns of a loop"
    DIVIDED = "a count of steps is divided by the number of ranks"
    COUNTED = "a count of a rank's steps is read as one of all ranks"
    SCALED = "a rate is multiplied by the number of ranks"
    SCALED_BY_ROOT = "a rate is multiplied by the square root of the number of ranks"
    BATCH = "a batch is divided by the number of ranks"
    PRINTED = "lines are printed by rank 0 only, and nothing else"


@dataclass(frozen=True)
class Change:
    """One application of one rule; or, without edits, a question that no rule could answer.

    rule   id of the rule: "C5"; of a question the code of what `check` reports there: "HVD105"
    what   what is done here, as a user reads it: "Scale the learning rate by the number of ranks"
    why    why training needs it, in a sentence
    span   the place in the document that it is about
    edits  what it does to the text
    decision  what it decides, where that has a name
    shown  what is scaled, where the text does not have it: "learning_rate=0.001"
    sure   False when a side condition could not be proven: `doubt` then says which, and the user is asked to confirm
    """

    rule: str
    what: str
    why: str
    span: Span
    edits: tuple[Edit | Move, ...]
    sure: bool = True
    doubt: str = ""
    decision: Decision | None = None
    shown: str = ""


@dataclass(frozen=True)
class Reason:
    """Why a document is refused: a code ("HVD107"), a message, and the place."""

    code: str
    message: str
    span: Span


@dataclass(frozen=True)
class Note:
    """Something that the user should know about the result but that stops nothing (a fixed seed, a missing warm-up)."""

    rule: str
    message: str
    span: Span


@dataclass(frozen=True)
class Answer:
    """A finding of `check` that some change of a plan deals with: it makes up for it, or its doubt asks about it."""

    code: str
    span: Span


@dataclass(frozen=True)
class StepScaling:
    """How several ranks share the work of one place that trains.

    kind   "weak", "strong", "none" or "own games"
    why    what that means for data, rate and steps, in a sentence
    span   the place
    sure   False where it rests on something that the user is asked
    """

    kind: str
    why: str
    span: Span
    sure: bool = True

    @property
    def sentence(self) -> str:
        """ "Weak scaling: each rank trains on batches of its own: …" """
        what = _SCALINGS[self.kind]
        return f"{what}: {self.why}{'' if self.sure else ' (to confirm)'}"


_SCALINGS = {
    "weak": "Weak scaling",
    "strong": "Strong scaling",
    "none": "No scaling",
    "own games": "No scaling",
}


@dataclass(frozen=True)
class Plan:
    """The changes that distribute a document, in the order of the text."""

    document: Document
    changes: Sequence[Change]
    notes: Sequence[Note] = ()
    answered: Sequence[Answer] = ()
    scalings: Sequence[StepScaling] = ()
    beside: Sequence[str] = ()  # modules of ours (`runtime`) that have to stand in the script's folder

    @cached_property
    def edits(self) -> list[Edit]:
        """All edits, ordered, not overlapping. Raises EditConflict (a fault of ours)."""
        return compose(self.document.text, [e for change in self.changes for e in change.edits])

    @cached_property
    def text(self) -> str:
        """The distributed text."""
        return apply(self.document.text, self.edits)

    @property
    def sure(self) -> bool:
        return all(change.sure for change in self.changes)

    @property
    def to_confirm(self) -> list[Change]:
        """What the user is asked: changes that could not be proven, and findings that no change answers."""
        return [change for change in self.changes if not change.sure]

    def answers(self, code: str, span: Span) -> bool:
        """Whether a change deals with a finding."""
        return any(code == answer.code and span.overlaps(answer.span) for answer in self.answered)


@dataclass(frozen=True)
class Refusal:
    """The document can't be distributed as it stands."""

    document: Document
    reasons: Sequence[Reason]


@dataclass(frozen=True)
class Unchanged:
    """Nothing to do, and why: the document uses Horovod already."""

    document: Document
    message: str
