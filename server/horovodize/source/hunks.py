"""Edits as the hunks of a diff: made from the edits, not found by comparing whole texts, which is exact and takes no longer for
a long file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from horovodize.source.edits import Edit, apply
from horovodize.source.lines import LineIndex, Span

CONTEXT = 3  # unchanged lines around a change


@dataclass(frozen=True)
class Block:
    """Lines `first`…`last` (from 0, `last` exclusive) of the old text become `new`."""

    first: int
    last: int
    new: tuple[str, ...]


def lines_of(text: str) -> list[str]:
    """The lines with their ends; no empty one at the end."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)


def blocks_of(index: LineIndex, edits: Sequence[Edit]) -> list[Block]:
    """The changed lines, in order; those next to each other in one block."""
    groups: list[tuple[int, int, list[Edit]]] = []
    for edit in edits:
        first, last = index.line_of(edit.span.start), index.line_of(edit.span.end)
        if groups and first <= groups[-1][1]:
            groups[-1] = (groups[-1][0], max(groups[-1][1], last), [*groups[-1][2], edit])
        else:
            groups.append((first, last, [edit]))
    return [block for first, last, group in groups for block in _trimmed(index, first, last, group)]


def _trimmed(index: LineIndex, first: int, last: int, edits: list[Edit]) -> Iterator[Block]:
    """Edits within lines `first`…`last` (inclusive), as the lines that really differ."""
    whole = Span(index.span(first).start, index.span(last).end)
    old, new = lines_of(index.text[whole.start : whole.end]), lines_of(apply(index.text, edits, whole))
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Block(first + i1, first + i2, tuple(new[j1:j2]))


def hunks_of(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Blocks whose contexts touch belong to one hunk."""
    hunk: list[Block] = []
    for block in blocks:
        if hunk and block.first - hunk[-1].last > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk
