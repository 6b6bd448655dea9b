"""As what a document is looked at: with the other files of a script that it is a part of, or by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from horovodize.source import Document, Span
from horovodize.world.world import world_of

if TYPE_CHECKING:
    from horovodize.distribute import Outcome
    from horovodize.options import Options
    from horovodize.summary import ModuleSummary


class View:
    """A document, or all files of a project, with one of them to look at.

    summary  what is known of the whole
    outcome  what distributing it comes to, in its positions; None: nothing is said of that
    own      the file to look at
    world    the TensorFlow and the Keras that it is for
    start    where that begins in the whole"""

    def __init__(
        self, summary: ModuleSummary, outcome: Outcome | None, own: Document, options: Options, start: int = 0
    ) -> None:
        self.summary, self.outcome, self.own, self.start = summary, outcome, own, start
        self.world = world_of(summary, options)

    @property
    def document(self) -> Document:
        return self.summary.document

    @property
    def several(self) -> bool:
        """Whether there are other files in it."""
        return self.document is not self.own

    def to_own(self, span: Span) -> Span:
        """A span of the whole that is in the file, counted from the file's start."""
        return Span(span.start - self.start, span.end - self.start)

    def holds(self, span: Span) -> bool:
        """Whether a span of the whole is in the file."""
        return 0 <= span.start - self.start <= len(self.own.text)

    def line_words(self, span: Span) -> str:
        """The line of a span in words, with the file if it is another one: "line 3", "line 3 of `optim.py`"."""
        from horovodize.distribute_project import in_file

        member, own = in_file(self.document, span)
        words = member.place(own.start).line_words
        return words if member is self.own or not self.several else f"{words} of `{_name(member)}`"


def _name(document: Document) -> str:
    return document.path.replace("\\", "/").rpartition("/")[2]
