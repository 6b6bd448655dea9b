"""Brings a plan for a text that was taken apart back to the text as it was."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from horovodize.plan import Change, Plan, Refusal, Unchanged
from horovodize.source import Document, Edit, Move, Span
from horovodize.source.edits import TOGETHER, apply
from horovodize.summary import ModuleSummary
from horovodize.taking_apart.together import is_together

_WHAT = "Give training steps statements of their own"
_WHY = "Horovod's calls need a place after a step, and its loop has to be divided among the ranks."
_WRITTEN = "Write out what `*` and `**` pass"
_WHY_WRITTEN = "Each rank gets its own rows and callbacks, which have to be told apart for it."
_EACH = "Count each number by a statement of its own"
_WHY_EACH = "They count different things, and each has to count those of all ranks."
_RULE = "C8"


@dataclass(frozen=True)
class _Hunk:
    """Lines that are others than before: where they stand now, and where they stood."""

    now: Span
    then: Span


class Back:
    """The way back from a document to what it was before its statements were taken apart."""

    def __init__(self, before: ModuleSummary, now: Document) -> None:
        self.before, self.now = before.document, now
        self._hunks = list(_hunks(self.before.text, now.text))

    def outcome(self, outcome: Plan | Refusal | Unchanged) -> Plan | Refusal | Unchanged:
        match outcome:
            case Plan():
                return self._plan(outcome)
            case Refusal():
                reasons = [replace(r, span=self.span(r.span)) for r in outcome.reasons]
                return Refusal(self.before, list(dict.fromkeys(reasons)))
            case Unchanged():
                return Unchanged(self.before, outcome.message)

    # ------------------------------------------------------------------ places

    def span(self, span: Span) -> Span:
        """Where what stands in the document stood before: if its text is there once, that; else all that was taken apart."""
        hunk = next((h for h in self._hunks if h.now.start <= span.start <= h.now.end), None)
        if hunk is None:
            start = self._offset(span.start)
            return Span(start, max(self._offset(span.end), start))
        then = self.before.text[hunk.then.start : hunk.then.end]
        text = self.now.text[span.start : span.end]
        if text and then.count(text) == 1:
            start = hunk.then.start + then.index(text)
            return Span(start, start + len(text))
        blank = len(then) - len(then.lstrip())
        return Span(
            hunk.then.start + blank, max(hunk.then.start + len(then.rstrip()), hunk.then.start + blank)
        )

    def _offset(self, offset: int) -> int:
        """Where an offset outside of hunks was; of one inside, the end of the hunk."""
        i = bisect_right([h.now.start for h in self._hunks], offset) - 1
        if i < 0:
            return offset
        hunk = self._hunks[i]
        return hunk.then.end + max(offset - hunk.now.end, 0)

    # ------------------------------------------------------------------ edits

    def _plan(self, plan: Plan) -> Plan:
        edits = plan.edits
        hunks = self._needed(edits)
        regions = self._regions(hunks, [e for c in plan.changes for e in c.edits])
        made = {
            region: Edit(
                Span(self._start(region), self._offset(region.end)),
                apply(self.now.text, [e for e in edits if e.span in region], region),
                level=TOGETHER,
            )
            for region in regions
        }
        changes = [self._change(change, made) for change in plan.changes]
        apart = [
            Change(_RULE, *self._reason(h), self.span(Span(h.now.start, h.now.start)), (_of(h, made),))
            for h in hunks
        ]
        changes = sorted([*apart, *changes], key=lambda c: c.span)
        return Plan(
            self.before,
            changes,
            [replace(n, span=self.span(n.span)) for n in plan.notes],
            [replace(a, span=self.span(a.span)) for a in plan.answered],
            [replace(s, span=self.span(s.span)) for s in plan.scalings],
            plan.beside,
        )

    def _needed(self, edits: Sequence[Edit | Move]) -> list[_Hunk]:
        """Without numbers that are counted on together, where no rule had to change how."""
        return [
            h for h in self._hunks if not self._is_together(h) or any(_meet(_reach(e), h.now) for e in edits)
        ]

    def _is_together(self, hunk: _Hunk) -> bool:
        """Whether the lines had an assignment of several numbers, and nothing else in them is another now."""
        then = self.before.text[hunk.then.start : hunk.then.end]
        return is_together(then, self.now.text[hunk.now.start : hunk.now.end])

    def _reason(self, hunk: _Hunk) -> tuple[str, str]:
        """A statement that is taken apart has more lines, or others, than before; what is written out stays in its lines."""
        if self._is_together(hunk):
            return _EACH, _WHY_EACH
        then, now = (
            text[span.start : span.end].splitlines()
            for text, span in ((self.before.text, hunk.then), (self.now.text, hunk.now))
        )
        written = len(then) == len(now) and all("*" in line for line in then)
        return (_WRITTEN, _WHY_WRITTEN) if written else (_WHAT, _WHY)

    def _start(self, region: Span) -> int:
        hunk = next((h for h in self._hunks if h.now.start == region.start), None)
        return hunk.then.start if hunk is not None else self._offset(region.start)

    def _regions(self, hunks: Sequence[_Hunk], edits: Iterable[Edit | Move]) -> list[Span]:
        """The parts of the text that are edited as a whole: what was taken apart, and what edits reach from there."""
        touched = [_reach(e) for e in edits]
        regions = [h.now for h in hunks]
        while True:
            grown = _merged(
                [
                    Span(
                        min([r.start, *(t.start for t in touched if _meet(t, r))]),
                        max([r.end, *(t.end for t in touched if _meet(t, r))]),
                    )
                    for r in regions
                ]
            )
            if grown == regions:
                return grown
            regions = grown

    def _change(self, change: Change, made: dict[Span, Edit]) -> Change:
        edits = [self._edit(e, made) for e in change.edits]
        return replace(change, span=self.span(change.span), edits=tuple(dict.fromkeys(edits)))

    def _edit(self, edit: Edit | Move, made: dict[Span, Edit]) -> Edit | Move:
        reach = _reach(edit)
        for region, whole in made.items():
            if _meet(reach, region):
                return whole
        span = Span(self._offset(edit.span.start), self._offset(edit.span.end))
        anchor = edit.anchor and Span(self._offset(edit.anchor.start), self._offset(edit.anchor.end))
        if isinstance(edit, Edit):
            return replace(edit, span=span, anchor=anchor)
        return replace(edit, span=span, target=self._offset(edit.target), anchor=anchor or Span(0, 0))


def _hunks(before: str, now: str) -> Iterable[_Hunk]:
    """The lines in which two texts differ."""
    old, new = before.splitlines(keepends=True), now.splitlines(keepends=True)
    starts_old, starts_new = _starts(old), _starts(new)
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Hunk(Span(starts_new[c], starts_new[d]), Span(starts_old[a], starts_old[b]))


def _starts(lines: Sequence[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def _reach(edit: Edit | Move) -> Span:
    if isinstance(edit, Edit):
        return edit.span
    return Span(min(edit.target, edit.span.start), max(edit.target, edit.span.end))


def _meet(one: Span, other: Span) -> bool:
    """Whether two spans have a place in common, their ends included."""
    return one.start <= other.end and other.start <= one.end


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _of(hunk: _Hunk, made: dict[Span, Edit]) -> Edit:
    return next(edit for region, edit in made.items() if hunk.now in region)
