"""Suppression of findings by comments.

`# horovodize: ignore[HVD105]` at the end of the line where a statement starts or ends, or of the line where the finding
itself starts or ends; several codes or names separated by commas; `# horovodize: ignore` for all. `# horovodize: ignore-file`,
with or without codes, on a line of its own stands for the whole file. Comments are what Python's tokenizer says they are: a
string that holds such a text is not one.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.restrictions.violation import Findings, Violation
from horovodize.source import Document, Edit, Span

_DIRECTIVE = re.compile(r"#\s*horovodize:\s*(ignore-file|ignore)(?![\w-])\s*(\[[^\]\r\n]*\])?", re.I)


@dataclass(frozen=True)
class Directive:
    """One comment that suppresses: `codes` in upper case (names too); None means all. `brackets` is the span of its codes,
    brackets included, `span` that of the whole directive."""

    codes: frozenset[str] | None
    whole_file: bool
    row: int
    span: Span
    brackets: Span | None

    def covers(self, violation: Violation) -> bool:
        """Whether it means this violation, wherever that is."""
        return self.codes is None or bool(self.codes & {violation.code.upper(), violation.name.upper()})


class Suppressions:
    """The suppressing comments of a document. Rows count from 0."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.directives: list[Directive] = []
        if "horovodize:" in document.text.lower():
            self._read()

    def _read(self) -> None:
        self._lines = logical_lines(self.document, self.directives)
        self._file_wide = [d for d in self.directives if d.whole_file]
        self._by_row = {d.row: d for d in self.directives if not d.whole_file}

    def split(self, violations: list[Violation]) -> Findings:
        """The violations, those apart that a comment suppresses, in the order of the text."""
        ordered = sorted(violations, key=lambda v: (v.span, v.code, v.message))
        hidden = [v for v in ordered if self.suppresses(v)]
        return Findings([v for v in ordered if v not in hidden], hidden)

    def suppresses(self, violation: Violation) -> bool:
        if not self.directives:
            return False
        if any(d.covers(violation) for d in self._file_wide):
            return True
        return any(
            row in self._by_row and self._by_row[row].covers(violation)
            for row in _rows(self.document, self._lines, violation.span)
        )


def suppressed(document: Document, violation: Violation) -> bool:
    """Whether a comment in the document suppresses a violation. (For many violations, keep a `Suppressions`.)"""
    return Suppressions(document).suppresses(violation)


def suppression_edit(document: Document, code: str, span: Span) -> Edit:
    """The edit that suppresses a code at a span: a comment at the end of its statement's last line (of its header's, for a
    statement with a body), or the code added to the comment that is there. An edit that changes nothing where a comment
    suppresses the code already."""
    directives: list[Directive] = []
    lines = logical_lines(document, directives)
    first, last = _logical(lines, document.lines.line_of(span.start))
    for row in (last, first):
        directive = next((d for d in directives if d.row == row and not d.whole_file), None)
        if directive is None:
            continue
        if directive.codes is None or code.upper() in directive.codes:
            return Edit.insert(directive.span.end, "")
        assert directive.brackets is not None
        separator = ", " if directive.codes else ""
        return Edit.insert(directive.brackets.end - 1, separator + code)
    content = document.lines.content(last)
    start = document.lines.starts[last]
    end = start + len(content.rstrip(" \t\f"))
    comment = f"{'  ' if content.strip() else ''}# horovodize: ignore[{code}]"
    return Edit(Span(end, start + len(content)), comment)


# ---------------------------------------------------------------------- lines and comments


def logical_lines(document: Document, directives: list[Directive]) -> list[tuple[int, int]]:
    """The first and last row of every logical line; fills in the directives on the way. Stops at what can't be tokenized."""
    found: list[tuple[int, int]] = []
    if document.problem is not None:  # no tokens to go by: whatever looks like one
        for row in range(len(document.lines)):
            content = document.lines.content(row)
            directives += _directives(
                document, row, max(content.find("#"), 0), content[max(content.find("#"), 0) :]
            )
        return found
    first: int | None = None
    for token in _tokens(document):
        if token.type == tokenize.COMMENT:
            directives += _directives(document, token.start[0] - 1, token.start[1], token.string)
        elif token.type == tokenize.NEWLINE:
            if first is not None:
                found.append((first, token.start[0] - 1))
            first = None
        elif first is None and token.type not in (
            tokenize.NL,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.ENDMARKER,
        ):
            first = token.start[0] - 1
    return found


def _tokens(document: Document) -> Iterator[tokenize.TokenInfo]:
    lines = document.lines
    # Rows must be ours, so each line is handed over with one kind of line end.
    rows = iter([lines.content(i) + "\n" for i in range(len(lines))])
    try:
        yield from tokenize.generate_tokens(lambda: next(rows, ""))
    except (tokenize.TokenError, SyntaxError):
        return


def _directives(document: Document, row: int, column: int, comment: str) -> Iterator[Directive]:
    """What a comment says, if anything."""
    for match in _DIRECTIVE.finditer(comment):
        offset = document.lines.starts[row] + column
        whole_file = match[1].lower() == "ignore-file"
        if whole_file and document.lines.content(row)[:column].strip():
            continue  # beside code it would look as if it meant that line
        codes = None
        brackets = None
        if match[2] is not None:
            codes = frozenset(code.strip().upper() for code in match[2][1:-1].split(",") if code.strip())
            brackets = Span(offset + match.start(2), offset + match.end(2))
        yield Directive(codes, whole_file, row, Span(offset + match.start(), offset + match.end()), brackets)


def _logical(lines: list[tuple[int, int]], row: int) -> tuple[int, int]:
    return next(((first, last) for first, last in lines if first <= row <= last), (row, row))


def _rows(document: Document, lines: list[tuple[int, int]], span: Span) -> set[int]:
    """The rows where a comment about a span may stand."""
    start = document.lines.line_of(span.start)
    end = document.lines.line_of(max(span.start, span.end - 1))
    return {start, *_logical(lines, start), *_logical(lines, end), end}
