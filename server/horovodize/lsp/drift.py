"""Where a place of an earlier version is now.

While a document does not parse, its last good analysis is shown. Since then text was replaced somewhere: what
lies before it stays, what lies after it shifts, what lies in it is gone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from horovodize.restrictions.violation import Violation
from horovodize.source import Span


@dataclass(frozen=True)
class Drift:
    """One stretch of an earlier text was replaced: `old` there is `new` now."""

    old: Span
    new: Span

    @staticmethod
    def between(earlier: str, now: str) -> Drift:
        """The shortest single replacement that leads from one text to the other."""
        if earlier == now:
            return Drift(Span(len(now), len(now)), Span(len(now), len(now)))
        shorter = min(len(earlier), len(now))
        start = _same(shorter, lambda n: earlier[:n] == now[:n])
        tail = _same(shorter - start, lambda n: earlier[len(earlier) - n :] == now[len(now) - n :])
        return Drift(Span(start, len(earlier) - tail), Span(start, len(now) - tail))

    def forward(self, span: Span) -> Span | None:
        """Where a span of the earlier text is now; None when the replacement touched it."""
        if span.end <= self.old.start:
            return span
        if span.start >= self.old.end:
            return Span(span.start + self._shift, span.end + self._shift)
        return None

    def moved(self, violation: Violation) -> Violation | None:
        """Where a finding of the earlier text is now, without its fixes; None when the replacement touched it."""
        span = self.forward(violation.span)
        if span is None:
            return None
        related = [(note, self.forward(note.span)) for note in violation.related]
        kept = tuple(dataclasses.replace(note, span=place) for note, place in related if place is not None)
        return dataclasses.replace(violation, span=span, related=kept, fixes=())

    def back(self, offset: int) -> int | None:
        """Where an offset of the text now was; None inside the replacement."""
        if offset < self.new.start:
            return offset
        if offset >= self.new.end:
            return offset - self._shift
        return None

    @property
    def _shift(self) -> int:
        return self.new.end - self.old.end


def _same(limit: int, agrees: Callable[[int], bool]) -> int:
    """The greatest n up to the limit for which a monotonous condition holds. Comparing slices is far faster
    than a loop over characters."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if agrees(middle):
            low = middle
        else:
            high = middle - 1
    return low
