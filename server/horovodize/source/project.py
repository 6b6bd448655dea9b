"""Several modules as one document: a script and the modules of its project that it imports, those imported first.

Each module keeps its own syntax tree and its own names; only positions are shared: the texts stand one after another, so an
offset says which file and where in it. Rules work on the whole as on one file, and their edits are cut up by file. The
script may be a notebook. Knows nothing of TensorFlow."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

from horovodize.source.document import Document, Place, Problem
from horovodize.source.edits import Edit, EditConflict, Move
from horovodize.source.encoding import Encoded
from horovodize.source.lines import Span

_BETWEEN = "\n\n\n"


class ProjectDocument(Document):
    """Modules as one document. The last is the script."""

    def __init__(self, members: Sequence[Document]) -> None:
        self.members = list(members)
        self._starts: list[int] = []
        parts, at = list[str](), 0
        for member in self.members:
            self._starts.append(at)
            parts += [member.text, _BETWEEN]
            at += len(member.text) + len(_BETWEEN)
        text = "".join(parts)
        super().__init__(text, self.script.path, encoded=Encoded(text))

    @property
    def script(self) -> Document:
        return self.members[-1]

    # ------------------------------------------------------------------ reading

    @cached_property
    def trees(self) -> list[ast.Module]:
        """The syntax trees of the members that parse, with the lines that they have in the whole."""
        found = []
        for member, start in zip(self.members, self._starts, strict=True):
            # Its own copy, as it is pruned; empty lines in front put it where it stands in the whole.
            before = "\n" * self.lines.line_of(start)
            tree = Document(before + member.text).tree or ast.Module([], [])
            found.append(tree)
        return found

    @cached_property
    def _parsed(self) -> ast.Module | Problem:
        problem = self.script.problem
        if problem is not None:
            start = self._starts[-1]
            return Problem(problem.message, Span(problem.span.start + start, problem.span.end + start))
        return self.trees[-1]

    @cached_property
    def newline(self) -> str:
        return "\n"  # that of each file is put in where its edits are cut out

    @cached_property
    def indent_unit(self) -> str:
        return self.script.indent_unit

    @cached_property
    def quote(self) -> str:
        return self.script.quote

    def member_at(self, offset: int) -> int:
        """The index of the member that an offset is in."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    @cached_property
    def commands(self) -> tuple[Span, ...]:  # type: ignore[override]
        """Those of a notebook, which may be the script."""
        pairs = zip(self.members, self._starts, strict=True)
        return tuple(Span(one.start + at, one.end + at) for member, at in pairs for one in member.commands)

    def original(self, span: Span) -> str:
        index = self.member_at(span.start)
        return self.members[index].original(self.local_span(index, span))

    def place(self, offset: int) -> Place:
        index = self.member_at(offset)
        return self.members[index].place(offset - self._starts[index])

    def name_at(self, offset: int) -> str:
        index = self.member_at(offset)
        return self.members[index].name_at(offset - self._starts[index])

    def separates(self, before: int, after: int) -> bool:
        index = self.member_at(before)
        start = self._starts[index]
        return index != self.member_at(after) or self.members[index].separates(before - start, after - start)

    # ------------------------------------------------------------------ editing

    def by_member(self, edits: Sequence[Edit]) -> list[tuple[Document, list[Edit]]]:
        """The files that edits change, each with its edits, which count from its start and have its line ends. Raises
        EditConflict for an edit that reaches over a file's end."""
        found: dict[int, list[Edit]] = {}
        for edit in edits:
            index = self.member_at(edit.span.start)
            found.setdefault(index, []).append(self._within(index, edit))
        return [(self.members[i], found[i]) for i in sorted(found)]

    def _within(self, index: int, edit: Edit) -> Edit:
        member, start = self.members[index], self._starts[index]
        end = edit.span.end - start
        if end > len(member.text) + len(_BETWEEN):
            raise EditConflict(f"a change of {member.path} reaches over its end")
        text = re.sub(r"\r\n|\r|\n", member.newline, edit.new_text)
        span = Span(min(edit.span.start - start, len(member.text)), min(end, len(member.text)))
        return Edit(span, text)

    def changed_by(self, edits: Sequence[Edit]) -> ProjectDocument:
        changed = {id(member): member.changed_by(own) for member, own in self.by_member(edits)}
        return ProjectDocument([changed.get(id(member), member) for member in self.members])

    def tree_at(self, offset: int) -> ast.Module | None:
        return self.trees[self.member_at(offset)]

    def start_of(self, index: int) -> int:
        """The offset in the whole where a member starts."""
        return self._starts[index]

    def first_line(self, index: int) -> int:
        """The line of the whole, from 0, on which a member starts."""
        return self.lines.line_of(self._starts[index])

    def local_span(self, index: int, span: Span) -> Span:
        """A span in a member, counted from the member's start."""
        start, length = self._starts[index], len(self.members[index].text)
        return Span(min(max(span.start - start, 0), length), min(max(span.end - start, 0), length))

    def local_edit(self, index: int, edit: Edit | Move) -> Edit | Move:
        """An edit in a member, not composed yet, counted from the member's start and with its line ends."""

        def lines(text: str) -> str:
            return re.sub(r"\r\n|\r|\n", self.members[index].newline, text)

        anchor = self.local_span(index, edit.anchor) if edit.anchor is not None else None
        if isinstance(edit, Edit):
            return Edit(self.local_span(index, edit.span), lines(edit.new_text), anchor, edit.level)
        target = self.local_span(index, Span(edit.target, edit.target)).start
        before, after, left = lines(edit.before), lines(edit.after), lines(edit.left)
        span = self.local_span(index, edit.span)
        return Move(span, target, before, after, left, anchor or Span(0, 0), edit.level)

    def verify(self, edits: Sequence[Edit]) -> None:
        for member, own in self.by_member(edits):
            member.verify(own)
