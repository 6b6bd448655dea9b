"""The statements of a script as a tree, with what each is for the training: roles, training loops, what calls mean."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.source import Document
    from horovodize.summary import ModuleSummary

_WIDTH = 88


def print_tree(summary: ModuleSummary, console: Console) -> None:
    """Prints the tree of a script; of one with modules, a tree for each file."""
    from horovodize.source.project import ProjectDocument

    document = summary.document
    marks = _marks(summary)
    if isinstance(document, ProjectDocument):
        for member, tree in zip(document.members, document.trees, strict=True):
            console.line(console.paint(member.path, "bold"))
            _Printer(document, marks, console).body(tree.body, "")
    elif document.tree is not None:
        _Printer(document, marks, console).body(document.tree.body, "")


def _marks(summary: ModuleSummary) -> dict[int, list[str]]:
    """What stands beside a line: the roles made there, the loops that train there. Lines of the document, from 0."""
    lines = summary.document.lines
    found: dict[int, list[str]] = {}
    for role in summary.roles:
        if role.role != "loop":
            text = ": ".join(part for part in (role.role, " ".join(role.detail.split())) if part)
            found.setdefault(lines.line_of(role.span.start), []).append(text)
    for loop in summary.loops:
        found.setdefault(lines.line_of(loop.site.start), []).append("trains here")
        header = lines.line_of(loop.span.start)
        if header != lines.line_of(loop.site.start):
            found.setdefault(header, []).append(loop.describe())
    return {line: list(dict.fromkeys(texts)) for line, texts in found.items()}


class _Printer:
    """Prints statements below each other, and those inside of them behind lines."""

    def __init__(self, document: Document, marks: dict[int, list[str]], console: Console) -> None:
        self.document, self.marks, self.console = document, marks, console

    def body(self, statements: Sequence[ast.stmt], margin: str) -> None:
        for index, statement in enumerate(statements):
            last = index == len(statements) - 1
            self._statement(statement, margin, "└─ " if last else "├─ ", margin + ("   " if last else "│  "))

    def _statement(self, statement: ast.stmt, margin: str, branch: str, inside: str) -> None:
        first = statement.lineno - 1
        bodies = _bodies(statement)
        end = bodies[0][1][0].lineno - 1 if bodies else (statement.end_lineno or statement.lineno)
        marks = [mark for line in range(first, max(end, first + 1)) for mark in self.marks.get(line, ())]
        self._line(statement, margin + branch, marks)
        for name, body in bodies:
            if name:
                self.console.line(" " * 6 + self.console.paint(f"{inside}{name}", "dim"))
            self.body(body, inside)

    def _line(self, statement: ast.stmt, margin: str, marks: Sequence[str]) -> None:
        paint = self.console.paint
        place = self.document.place(self.document.span(statement).start)
        number = f"{place.line}" if place.cell is None else f"{place.cell}:{place.line}"
        text = " ".join(self.document.source(statement).split("\n")[0].split())
        text = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
        kind = type(statement).__name__
        said = f"  {paint('← ' + '; '.join(marks), 'green')}" if marks else ""
        self.console.line(f"{number:>5} {paint(margin, 'dim')}{paint(kind, 'cyan')}  {text}{said}")


def _bodies(statement: ast.stmt) -> list[tuple[str, list[ast.stmt]]]:
    """The blocks of a statement, each with the word that begins it; the first one has none."""
    found: list[tuple[str, list[ast.stmt]]] = []
    for field, word in (("body", ""), ("handlers", ""), ("orelse", "else"), ("finalbody", "finally")):
        value = getattr(statement, field, None)
        if field == "handlers" and value:
            found += [("except", handler.body) for handler in value]
        elif isinstance(value, list) and value:
            found.append((word, value))
    for case in getattr(statement, "cases", ()):
        found.append(("case", case.body))
    return found
