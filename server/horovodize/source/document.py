"""A document: text with its path, its lines and its syntax tree, and the style that inserted code should follow."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from horovodize.source.encoding import Encoded, decode
from horovodize.source.lines import LineIndex, Span


@dataclass(frozen=True)
class Problem:
    """Why a document has no syntax tree."""

    message: str
    span: Span


class Document:
    """One version of one file. Immutable; the parsed parts are made when first asked for."""

    def __init__(self, text: str, path: str = "<text>", *, encoded: Encoded | None = None) -> None:
        self.text = text
        self.path = path
        self.encoded = encoded or Encoded(text)

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> Document:
        """Reads a file's bytes. Raises UndecodableSource."""
        encoded = decode(data)
        return cls(encoded.text, path, encoded=encoded)

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.text)

    @cached_property
    def _parsed(self) -> ast.Module | Problem:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # invalid escapes in the user's strings are not ours to report
                return ast.parse(self.text)
        except SyntaxError as e:
            return Problem(_explain(e, self.text), self._place(e))
        except RecursionError:
            return Problem("the code is nested too deeply to be parsed", Span(0, 0))
        except (ValueError, MemoryError) as e:  # null bytes; parser stack
            return Problem(str(e) or "too complex to be parsed", Span(0, 0))

    @property
    def tree(self) -> ast.Module | None:
        """The syntax tree, or None: then `problem` says why."""
        return self._parsed if isinstance(self._parsed, ast.Module) else None

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
        `else: f()`, `a; f()` and `elif` do not count)."""
        span = self.span(statement)
        if isinstance(statement, ast.If) and self.text.startswith("elif", span.start):
            return False
        line = self.lines.starts[statement.lineno - 1]
        return not self.text[line : span.start].strip(" \t\f")

    def indentation(self, node: ast.stmt) -> str:
        """The white space before the line on which a statement starts."""
        content = self.lines.content(node.lineno - 1)
        return content[: len(content) - len(content.lstrip(" \t\f"))].replace("\f", "")


def _explain(e: SyntaxError, text: str) -> str:
    if re.search(r"^\s*print\s+[^(\s=]|^\s*except\s+\w+\s*,\s*\w+\s*:|^\s*exec\s+['\"]", text, re.M):
        return f"this looks like Python 2 ({e.msg}); convert it with 2to3 first"
    return e.msg
