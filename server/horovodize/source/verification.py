"""Whether a text still parses after edits: only the statements at the top level that edits touch are parsed again."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from horovodize.source.edits import Edit, apply
from horovodize.source.lines import LineIndex, Span
from horovodize.source.reparse import begins


def check(text: str, tree: ast.Module, lines: LineIndex, edits: Sequence[Edit]) -> None:
    """Raises SyntaxError where the text, of which `tree` is the syntax tree, would not parse after edits, which are in order.

    A text that is cut between lines that start statements at the top level parses when all its pieces do: a piece can
    only be cut there when nothing (a bracket, a string, a backslash) reaches over the cut, and then none can begin with
    something that belongs to the piece before."""
    try:
        for piece, inside in _touched(_cuts(text, tree, lines), edits):
            after = apply(text, inside, piece)
            if piece.end < len(text) and not after.endswith(("\n", "\r")):
                raise SyntaxError("it would run into the next piece")
            ast.parse(after)
    except SyntaxError:  # told by its place in the whole
        ast.parse(apply(text, edits))


def _cuts(text: str, tree: ast.Module, lines: LineIndex) -> list[int]:
    """The offsets at which the text may be cut: its ends, and where statements at the top level begin."""
    return [0, *sorted({start for start in begins(tree, lines) if start}), len(text)]


def _touched(cuts: list[int], edits: Sequence[Edit]) -> Iterator[tuple[Span, list[Edit]]]:
    """The pieces that edits touch, with them; pieces beside each other as one, and both where an edit is at a cut."""
    first, last, inside = 0, -1, list[Edit]()
    for edit in edits:
        start = max(bisect_left(cuts, edit.span.start) - 1, 0)
        end = min(bisect_right(cuts, edit.span.end), len(cuts) - 1)
        if inside and start > last:
            yield Span(cuts[first], cuts[last]), inside
            inside = []
        if not inside:
            first, last = start, end
        inside.append(edit)
        last = max(last, end)
    if inside:
        yield Span(cuts[first], cuts[last]), inside
