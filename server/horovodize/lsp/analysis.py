"""What the engine says about one version of a document. Each part is made when it is first asked for,
once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from horovodize.source import Document

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from horovodize.distribute import Outcome
    from horovodize.options import Options
    from horovodize.restrictions.violation import Findings, Violation
    from horovodize.summary import ModuleSummary

NOT_DISTRIBUTED = "HVD001"

# The engine is imported at the first question: `initialize` is answered without it.


class Analysis:
    """One version of one document under one set of options."""

    def __init__(self, document: Document, options: Options, summary: ModuleSummary | None = None) -> None:
        self.document = document
        self.options = options
        self._summary = summary
        self._outcome: Outcome | None = None

    def under(self, options: Options) -> Analysis:
        """The same version under these options."""
        if options == self.options:
            return self
        return Analysis(self.document, options, self.summary)

    @cached_property
    def summary(self) -> ModuleSummary:
        from horovodize.summary import summarize

        return self._summary or summarize(self.document)

    @cached_property
    def findings(self) -> Findings:
        from horovodize.restrictions import examine

        return examine(self.summary, self.options)

    @property
    def violations(self) -> Sequence[Violation]:
        """What is reported."""
        return self.findings.reported

    @property
    def outcome(self) -> Outcome:
        """What distributing the document comes to."""
        while self._outcome is None:
            self._go_on()
        return self._outcome

    @property
    def takes_long(self) -> bool:
        """Whether the outcome isn't known, and has to be worked out rule by rule."""
        if self._outcome is None:
            self._go_on()
        return self._outcome is None

    def prepare(self) -> bool:
        """Works a part of what hovers and actions need out. Whether there is more to do."""
        if self._outcome is None:
            self._go_on()
            return True
        _ = self.summary.roles
        return False

    def _go_on(self) -> None:
        """Takes the outcome one step further."""
        try:
            next(self._steps)
        except StopIteration as end:
            self._outcome = end.value

    @cached_property
    def _steps(self) -> Generator[None, None, Outcome]:
        from horovodize.distribute import distributing

        return distributing(self.summary, self.options, self.findings)


def load_for_diagnostics() -> None:
    """Loads what reporting on a first document needs, by doing it once for the engine's own example."""
    _ = _example().violations


def load_for_actions() -> None:
    """Loads what hovers and code actions of a first document need."""
    example = _example()
    _ = example.summary.roles, example.outcome


def _example() -> Analysis:
    from horovodize.options import Options
    from horovodize.restrictions import RESTRICTIONS

    _, _, text = RESTRICTIONS[NOT_DISTRIBUTED].docs.partition("```python\n")
    return Analysis(Document(text.partition("```")[0]), Options())
