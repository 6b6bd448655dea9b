"""Edits of a text, and how edits by different rules fit together.

Rules mostly *insert*: before a statement, around an expression, after an argument. Insertions never get into each other's
way as long as those at one offset come in the right order; `compose` finds that order from what each insertion belongs to.
So no rule needs to know what another one did, every byte outside an edit stays as it was, and undo is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from horovodize.source.lines import Span

# The level of an edit that is what several changes come to: they can't be made one without the other.
TOGETHER = 99


class EditConflict(ValueError):
    """Two edits want to replace the same text differently."""


@dataclass(frozen=True)
class Edit:
    """Replaces `span` by `new_text`; an empty span inserts.

    `anchor` is the text that an insertion belongs to (the expression that it wraps, the statement that it precedes): at one
    offset, what closes an inner anchor comes before what closes an outer one, and what opens an outer anchor before what
    opens an inner one. `level` breaks ties, lower first."""

    span: Span
    new_text: str
    anchor: Span | None = None
    level: int = 0

    @staticmethod
    def insert(offset: int, text: str, anchor: Span | None = None, level: int = 0) -> Edit:
        return Edit(Span(offset, offset), text, anchor or Span(offset, offset), level)

    @staticmethod
    def around(span: Span, before: str, after: str, level: int = 0) -> tuple[Edit, ...]:
        """Puts text before and after a span that belong together."""
        return (
            *([Edit.insert(span.start, before, span, level)] if before else []),
            *([Edit.insert(span.end, after, span, level)] if after else []),
        )


@dataclass(frozen=True)
class Move:
    """Takes the text of `span`, other edits inside it included, to `target`, between `before` and `after`; leaves `left`
    in its place."""

    span: Span
    target: int
    before: str
    after: str
    left: str
    anchor: Span = field(default_factory=lambda: Span(0, 0))
    level: int = 0


def compose(text: str, edits: Iterable[Edit | Move]) -> list[Edit]:
    """The edits in the order of the text, moves resolved, equal ones once.

    Raises EditConflict when two of them replace overlapping text."""
    plain = list(dict.fromkeys(e for e in edits if isinstance(e, Edit)))
    moves = sorted(
        {e for e in edits if isinstance(e, Move)}, key=lambda m: (m.span.end - m.span.start, m.span.start)
    )
    for move in moves:
        inside = [e for e in plain if e.span in move.span and (e.anchor is None or e.anchor in move.span)]
        plain = [e for e in plain if e not in inside]
        moved = apply(text, _ordered(inside), move.span)
        plain.append(Edit.insert(move.target, move.before + moved + move.after, move.anchor, move.level))
        plain.append(Edit(move.span, move.left))
    return _ordered(plain)


def _ordered(edits: list[Edit]) -> list[Edit]:
    def key(indexed: tuple[int, Edit]) -> tuple[int, ...]:
        i, e = indexed
        anchor = e.anchor or e.span
        at = e.span.start
        if e.span.start != e.span.end:  # a replacement comes after what is inserted before it
            return (at, 2, 0, 0, i)
        if (
            anchor.end == at and anchor.start < at
        ):  # closes its anchor: inner ones first, so what opened last closes first
            return (at, 0, -anchor.start, -e.level, -i)
        return (at, 1, e.level, -anchor.end, i)  # opens its anchor: outer ones first

    ordered = [e for _, e in sorted(enumerate(edits), key=key)]
    for before, after in itertools.pairwise(ordered):
        if before.span.end > after.span.start:
            raise EditConflict(f"two changes of the same text: {before.new_text!r} and {after.new_text!r}")
    return ordered


def apply(text: str, ordered: Iterable[Edit], within: Span | None = None) -> str:
    """The text (or the part `within`) after edits that are in order."""
    whole = within or Span(0, len(text))
    parts, at = [], whole.start
    for edit in ordered:
        parts += [text[at : edit.span.start], edit.new_text]
        at = edit.span.end
    parts.append(text[at : whole.end])
    return "".join(parts)


def line_edits(text: str, ordered: list[Edit]) -> list[Edit]:
    """Joins edits at the same offset into one, for clients that do not keep the order of such edits."""
    joined: list[Edit] = []
    for edit in ordered:
        last = joined[-1] if joined else None
        if last is not None and last.span.end == edit.span.start and (last.span.start == last.span.end):
            joined[-1] = Edit(Span(last.span.start, edit.span.end), last.new_text + edit.new_text)
        else:
            joined.append(Edit(edit.span, edit.new_text))
    return joined
