"""A document: text with its path, its lines and its syntax tree, and the style that inserted code should follow."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from horovodize.source import verification
from horovodize.source.annotations import without_annotations
from horovodize.source.edits import Edit, apply
from horovodize.source.encoding import Encoded, decode
from horovodize.source.lines import LineIndex, Span
from horovodize.source.outline import Outline, Replaced
from horovodize.source.reparse import difference, reparse


@dataclass(frozen=True)
class Problem:
    """Why a document has no syntax tree."""

    message: str
    span: Span


@dataclass(frozen=True, order=True)
class Place:
    """A place as people read it: `line` and `column` from 1, in characters; in a notebook `cell` from 1, over all its cells,
    and the line in the cell."""

    line: int
    column: int
    cell: int | None = None

    def __str__(self) -> str:
        return ("" if self.cell is None else f"cell {self.cell}:") + f"{self.line}:{self.column}"

    @property
    def line_words(self) -> str:
        """The line in words: "line 12", "cell 3 line 12"."""
        return ("" if self.cell is None else f"cell {self.cell} ") + f"line {self.line}"


@dataclass(frozen=True)
class Part:
    """What is shown as a text of its own: a script, or a cell of a notebook, as it stands in the file. Edits count from its
    start and are in order."""

    cell: int | None
    text: str
    edits: tuple[Edit, ...]


class Untouchable(ValueError):
    """An edit would change text that only looks like Python to the rules: a command of a notebook, at `span`."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


class Meaning(Protocol):
    """What is known of the code of a document beyond its syntax."""

    def outdated_by(self, replaced: Replaced) -> None:
        """Some pieces of the document's outline were replaced."""


class Document:
    """One version of one file. Immutable; the parsed parts are made when first asked for.

    meaning  what is known of the code beyond its syntax, kept here to be brought up to date by the next version
    result   what was last made of it, or of an earlier version, from which the next differs as little as the versions do"""

    def __init__(self, text: str, path: str = "<text>", *, encoded: Encoded | None = None) -> None:
        self.text = text
        self.path = path
        self.encoded = encoded or Encoded(text)
        self.meaning: Meaning | None = None
        self.result: Document | None = None
        self._before: Document | None = None

    def changed_to(self, text: str) -> Document:
        """The next version. When it is parsed, it takes over the syntax tree of this one (or of the last one that had a tree),
        and replaces only the statements that have changed. From then on nobody may use the nodes of an older version."""
        after = Document(text, self.path)
        after._before = self if self.is_parsed else self._before
        after.result = self.result
        return after

    def made(self, text: str) -> Document:
        """A text that is made of this one, as a document: of what the last such text shares with it, its tree is taken over, as
        by `changed_to`."""
        last = self.result
        self.result = Document(text, self.path) if last is None else last.changed_to(text)
        return self.result

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> Document:
        """Reads a file's bytes. Raises UndecodableSource."""
        encoded = decode(data)
        return cls(encoded.text, path, encoded=encoded)

    @cached_property
    def lines(self) -> LineIndex:
        before = self._before
        if before is None:
            return LineIndex(self.text)
        return before.lines.of(self.text, *difference(before.text, self.text))

    @cached_property
    def _parsed(self) -> ast.Module | Problem:
        before = self._before
        if before is not None and before.tree is not None:
            replaced = reparse(before.outline, before.lines, self.lines)
            if replaced is not None:
                return self._take_over(before, replaced)
        parsed = self._parse()
        if isinstance(parsed, ast.Module):
            self._before = None
        return parsed

    def _take_over(self, before: Document, replaced: Replaced) -> ast.Module:
        tree = before.tree
        assert tree is not None
        meaning = before.meaning
        self._before, self.outline, before.meaning = None, before.outline, None
        del before._parsed, before.outline  # if it is asked again, it starts from nothing
        if meaning is not None:
            try:
                meaning.outdated_by(replaced)
                self.meaning = meaning
            except RecursionError:  # nested too deeply to be followed: who asks next starts from nothing
                pass
        return tree

    @cached_property
    def outline(self) -> Outline:
        """The tree in pieces. Only where there is a tree."""
        assert self.tree is not None
        return Outline([self.tree])

    def _parse(self) -> ast.Module | Problem:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # invalid escapes in the user's strings are not ours to report
                tree = ast.parse(self.text)
                without_annotations(self.text, tree.body)
                return tree
        except SyntaxError as e:
            return Problem(_explain(e, self.text), self._place(e))
        except RecursionError:
            return Problem("the code is nested too deeply to be parsed", Span(0, 0))
        except (ValueError, MemoryError) as e:  # null bytes; parser stack
            return Problem(str(e) or "too complex to be parsed", Span(0, 0))

    @property
    def is_parsed(self) -> bool:
        """Whether there is a syntax tree already."""
        return isinstance(self.__dict__.get("_parsed"), ast.Module)

    @property
    def tree(self) -> ast.Module | None:
        """The syntax tree, or None: then `problem` says why."""
        return self._parsed if isinstance(self._parsed, ast.Module) else None

    def tree_at(self, offset: int) -> ast.Module | None:
        """The syntax tree of the file that an offset is in: of several as one, each has its own."""
        return self.tree

    @property
    def problem(self) -> Problem | None:
        return self._parsed if isinstance(self._parsed, Problem) else None

    def _place(self, e: SyntaxError) -> Span:
        line = min(max((e.lineno or 1) - 1, 0), len(self.lines) - 1)
        whole = self.lines.span(line)
        start = min(whole.start + max((e.offset or 1) - 1, 0), whole.end)
        return Span(start, max(start, whole.start + len(self.lines.content(line))))

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias) -> Span:
        """The span of a node of `tree`."""
        return self.lines.node_span(node)

    def source(self, node: ast.expr | ast.stmt) -> str:
        """A node's text as it stands in the file."""
        span = self.span(node)
        return self.text[span.start : span.end]

    # ------------------------------------------------------------------ the file

    commands: tuple[Span, ...] = ()  # what stands for commands of a notebook: `original` has them

    def original(self, span: Span) -> str:
        """What stands in the file where `span` of the text is."""
        return self.text[span.start : span.end]

    def place(self, offset: int) -> Place:
        """Where an offset is, for a reader."""
        line = self.lines.line_of(offset)
        return Place(line + 1, offset - self.lines.starts[line] + 1)

    def file_line(self, offset: int) -> int:
        """The line of the file, from 1, that holds an offset."""
        return self.lines.line_of(offset) + 1

    def name_at(self, offset: int) -> str:
        """The name of the file that holds an offset, without its folder."""
        return os.path.basename(self.path)

    def is_elsewhere(self, offset: int, other: int) -> bool:
        """Whether two offsets are in different files."""
        return self.member_at(offset) != self.member_at(other)

    def member_at(self, offset: int) -> int:
        """The index of the file that holds an offset: of a project, one of several."""
        return 0

    def separates(self, before: int, after: int) -> bool:
        """Whether no statement can reach from one offset to another, later one: a notebook's cell ends between them."""
        return False

    def verify(self, edits: Sequence[Edit]) -> None:
        """Whether the document can be edited so. Edits are in order.

        Raises SyntaxError where the result would not parse, Untouchable, and EditConflict."""
        if self.tree is None:
            ast.parse(apply(self.text, edits))
        else:
            verification.check(self.text, self.tree, self.lines, edits)

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file after edits, which are in order. Without edits: the file. Raises UndecodableSource for characters that its
        encoding does not have."""
        return self.encoded.encode(apply(self.text, edits))

    def changed_by(self, edits: Sequence[Edit]) -> Document:
        """The document after edits, which are in order, read from nothing."""
        return Document(apply(self.text, edits), self.path)

    def parts(self, edits: Sequence[Edit]) -> list[Part]:
        """The parts of the document that edits change, with them."""
        return [Part(None, self.text, tuple(edits))] if edits else []

    # ------------------------------------------------------------------ style

    @cached_property
    def newline(self) -> str:
        """The line end that most lines have."""
        counts = Counter(re.findall(r"\r\n|\r|\n", self.text))
        return counts.most_common(1)[0][0] if counts else "\n"

    @cached_property
    def indent_unit(self) -> str:
        """One step of indentation: that of the first block in the file."""
        if self.tree is not None:
            for node in ast.walk(self.tree):
                body = getattr(node, "body", None)
                if isinstance(node, ast.stmt) and isinstance(body, list) and body[0].lineno > node.lineno:
                    outer, inner = self.indentation(node), self.indentation(body[0])
                    if inner.startswith(outer) and len(inner) > len(outer):
                        return inner[len(outer) :]
        return "    "

    @cached_property
    def quote(self) -> str:
        """The quotation mark that most short strings have."""
        single = len(re.findall(r"(?<!['\w])'[^'\"\n]*'(?!')", self.text))
        double = len(re.findall(r'(?<!["\w])"[^\'"\n]*"(?!")', self.text))
        return "'" if single > double else '"'

    def starts_line(self, statement: ast.stmt) -> bool:
        """Whether only white space stands before a statement on its line, so that lines can be put before it (`if x: f()`,
        `else: f()`, `a; f()` and `elif` do not count, nor what a backslash joins with the line before)."""
        span = self.span(statement)
        if isinstance(statement, ast.If) and self.text.startswith("elif", span.start):
            return False
        line = self.lines.starts[statement.lineno - 1]
        joined = statement.lineno > 1 and self.lines.content(statement.lineno - 2).endswith("\\")
        return not joined and not self.text[line : span.start].strip(" \t\f")

    def indentation(self, node: ast.stmt) -> str:
        """The white space before the line on which a statement starts."""
        content = self.lines.content(node.lineno - 1)
        return content[: len(content) - len(content.lstrip(" \t\f"))].replace("\f", "")


def _explain(e: SyntaxError, text: str) -> str:
    if re.search(r"^\s*print\s+[^(\s=]|^\s*except\s+\w+\s*,\s*\w+\s*:|^\s*exec\s+['\"]", text, re.M):
        return f"this looks like Python 2 ({e.msg}); port it to Python 3 first"
    return e.msg
