"""How edits are written: into a document's own style, around statements, into calls. Rules say what; this knows where.

Rules write markers for the names of Horovod's modules: HVD (any module has it), CORE (`horovod.tensorflow` only: tape,
broadcasts, objects), KERAS (`horovod.tensorflow.keras` only: callbacks, load_model)."""

from __future__ import annotations

import ast
import re

from horovodize.options import Options
from horovodize.python.module import Module
from horovodize.python.shared_line import goes_on, shared_line
from horovodize.python.syntax import FUNCTIONS, arguments
from horovodize.source import Edit, Move
from horovodize.summary import ModuleSummary

HVD, CORE, KERAS = "\ue000", "\ue001", "\ue002"
SIZE, RANK, LOCAL_RANK = f"{HVD}.size()", f"{HVD}.rank()", f"{HVD}.local_rank()"
ON_ROOT = f"{RANK} == 0"
LINE = 116  # columns of a line that is written as one

# Operators that bind weaker than `*` on its left side: such an expression needs parentheses before ` * hvd.size()`.
_WEAK = (ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred)
_WEAK_OPERATORS = (ast.Add, ast.Sub, ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd)
_KEYWORD = re.compile(r"\w+=")


class Writing:
    """Edits of one document, in its style."""

    def __init__(self, summary: ModuleSummary, options: Options) -> None:
        assert summary.module is not None
        self.options, self.document = options, summary.document
        self.module: Module = summary.module
        self.syntax = self.module.syntax

    @property
    def newline(self) -> str:
        return self.document.newline

    @property
    def unit(self) -> str:
        return self.document.indent_unit

    def can_insert(self, statement: ast.stmt) -> bool:
        """Whether statements can be put around a statement: it starts its line and none follows it there."""
        if not self.document.starts_line(statement) or goes_on(self.module, statement):
            return False
        block = self.syntax.block(statement)
        i = block.index(statement)
        return i + 1 == len(block) or block[i + 1].lineno != statement.end_lineno

    def first_line(self, statement: ast.stmt) -> int:
        """The line (from 1) on which a statement starts, its decorators included."""
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        return min([statement.lineno, *(d.lineno for d in decorators)])

    def line_words(self, node: ast.AST, said_at: ast.AST) -> str:
        """Where a node is, for something that is said at another: "line 7", in another file "line 7 of `nets.py`"."""
        at, here = self.module.span(node).start, self.module.span(said_at).start
        words = self.document.place(at).line_words
        if not self.document.is_elsewhere(at, here):
            return words
        return f"{words} of `{self.document.name_at(at)}`"

    def before(self, statement: ast.stmt, lines: list[str], level: int = -5) -> Edit:
        """Puts lines before a statement, at its indentation. Lines are given without indentation of the block."""
        indent = self.document.indentation(statement)
        start = self.document.lines.starts[self.first_line(statement) - 1] + len(indent)
        text = (
            "".join(self._indented(line, indent, i) + self.newline for i, line in enumerate(lines)) + indent
        )
        return Edit.insert(start, text, self.module.span(statement), level)

    def moved_before(
        self,
        statement: ast.stmt,
        e: ast.expr,
        opening: str,
        closing: str,
        lines: list[str],
        left: str,
        level: int = -2,
    ) -> Move:
        """Puts an expression, with what other rules do to it, on a line before its statement, and lines after that; `left`
        takes its place."""
        edit = self.before(statement, lines, level)
        span, indent = self.module.span(e), self.document.indentation(statement)
        after = closing + self.newline + indent + (edit.new_text if lines else "")
        return Move(span, edit.span.start, opening, after, left, edit.anchor or edit.span, level)

    def after(self, statement: ast.stmt, lines: list[str], level: int = 0) -> Edit:
        """Puts lines after a statement (and the comment on its last line), at its indentation."""
        indent = self.document.indentation(statement)
        index = self.document.lines
        line = (statement.end_lineno or statement.lineno) - 1
        end = index.starts[line] + len(index.content(line))
        text = "".join(self.newline + self._indented(line, indent, 1) for line in lines)
        return Edit.insert(
            end, text, None, level - 10 * len(indent)
        )  # after an inner block before after the outer one

    def can_put_after(self, statement: ast.stmt) -> bool:
        """Whether statements can be put after one, on lines of their own, even where it shares its line with others."""
        return self.can_insert(statement) or shared_line(self.module, statement) is not None

    def put_after(self, statement: ast.stmt, lines: list[str], level: int = 0) -> list[Edit]:
        """`after`, where a statement may share its line: `step(x); n += 1`, `for x in data: step(x)`. All statements of the
        line are put on lines of their own; equal edits count once, so several rules may do so."""
        shared = shared_line(self.module, statement)
        if self.can_insert(statement) or shared is None:
            return [self.after(statement, lines, level)]
        indent = self.document.indentation(shared.statements[0]) + (self.unit if shared.is_suite else "")
        edits = [Edit(gap, self.newline + indent) for gap in shared.gaps]
        i = shared.statements.index(statement) + 1
        if i < len(shared.statements):
            span = self.module.span(shared.statements[i])
            text = (
                "".join(self._indented(line, indent, n) + self.newline for n, line in enumerate(lines))
                + indent
            )
            return [*edits, Edit.insert(span.start, text, span, -5)]
        line = (statement.end_lineno or statement.lineno) - 1
        end = self.document.lines.starts[line] + len(self.document.lines.content(line))
        text = "".join(self.newline + self._indented(line, indent, 1) for line in lines)
        return [*edits, Edit.insert(end, text, None, level - 10 * len(indent))]

    def _indented(self, line: str, indent: str, i: int) -> str:
        line = self.newline.join(self.unit * _depth(part) + part.lstrip(" ") for part in line.split("\n"))
        return (indent if i else "") + line if line else line

    def lines_of(self, *lines: str, comment: str = "") -> list[str]:
        """Lines to insert, with a comment if the user wants comments: beside the first of them, above it where that would make
        a long line."""
        if not comment or not self.options.comments:
            return [*lines]
        beside = self.said(lines[0], comment)
        fits = len(beside.replace(HVD, "hvd").replace(CORE, "hvd")) <= LINE and "\n" not in lines[0]
        return [beside, *lines[1:]] if fits else [f"# {comment}", *lines]

    def said(self, line: str, comment: str) -> str:
        """A line to insert, with a comment beside it if the user wants comments."""
        told = comment.removeprefix("Horovod: ").removesuffix(".")
        return f"{line}  # {told[0].lower()}{told[1:]}" if self.options.comments else line

    def parenthesized(self, expression: ast.expr) -> bool:
        """Whether an expression stands in parentheses of its own (not those of a call)."""
        span, text = self.module.span(expression), self.document.text
        before, after = text[: span.start].rstrip(), text[span.end :].lstrip()
        if not (before.endswith("(") and after.startswith(")")):
            return False
        parent = self.syntax.parent.get(expression)
        if isinstance(parent, ast.Call):
            opens_call = self.module.span(parent.func).end
            return text[opens_call : len(before) - 1].strip() != ""
        return True

    def add_argument(self, call: ast.Call, text: str, *, first: bool = False, level: int = 0) -> Edit:
        """Adds an argument to a call: `first` puts it before the keywords (only for calls without positional ones)."""
        passed = arguments(call)
        span = self.module.span(call)
        if not passed:
            return Edit.insert(span.end - 1, text, None, level)
        if first and not call.args:
            keyword = min(call.keywords, key=lambda k: (k.lineno, k.col_offset))
            start = self.module.span(keyword).start
            return Edit.insert(start, text + ", ", self.module.span(keyword), level)
        ordered: list[ast.expr | ast.keyword] = sorted(
            [*call.args, *call.keywords], key=lambda a: (a.lineno, a.col_offset)
        )
        last = ordered[-1]
        end = self.module.span(last).end
        end = self._past_parentheses(end, span.end)
        lead = self.lead_of_arguments(call)
        if lead is not None:
            if isinstance(last, ast.keyword) and last.arg and _KEYWORD.match(text) and self._is_said(end):
                start = self.module.span(last).start  # before the argument that a comment is beside
                return Edit.insert(start, f"{text},{self.newline}{lead}", span, level)
            return Edit.insert(end, f",{self.newline}{lead}{text}", span, level)
        return Edit.insert(
            end, f", {text}", span, level
        )  # of the call: it stays where the last argument is moved

    def lead_of_arguments(self, call: ast.Call) -> str | None:
        """The indentation of the line that an argument gets which is added to a call; None where it gets no line of its own."""
        ordered: list[ast.expr | ast.keyword] = sorted(
            [*call.args, *call.keywords], key=lambda a: (a.lineno, a.col_offset)
        )
        if not ordered:
            return None
        last = ordered[-1]
        line = self.document.lines.content(last.lineno - 1)
        lead = line[: len(line) - len(line.lstrip())]
        is_first = self.document.lines.starts[last.lineno - 1] + len(lead) == self.module.span(last).start
        previous_line = ordered[-2].end_lineno if len(ordered) > 1 else call.func.end_lineno
        return lead if is_first and previous_line != last.lineno else None

    def _is_said(self, end: int) -> bool:
        """Whether a comment stands on the line behind a place, perhaps after a comma."""
        rest = self.document.text[end:].split("\n", 1)[0].lstrip(" \t,")
        return rest.startswith("#")

    def _past_parentheses(self, end: int, limit: int) -> int:
        """Skips the closing parentheses that belong to the last argument itself: `f((a))`."""
        text, at = self.document.text, end
        while True:
            following = _skip_space(text, at)
            if following < limit - 1 and text[following] == ")":
                at = end = following + 1
            else:
                return end

    def quoted(self, text: str) -> str:
        """A string literal in the file's own quotes."""
        return f"{self.document.quote}{text}{self.document.quote}"

    def start_of_body(self, function: ast.stmt) -> ast.stmt:
        """The first statement of a body that is not its docstring."""
        body: list[ast.stmt] = function.body  # type: ignore[attr-defined]
        first = body[0]
        is_doc = (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        )
        if isinstance(function, FUNCTIONS) and is_doc and len(body) > 1:
            return body[1]
        return first


def binds_as_tightly(around: ast.AST | None, e: ast.expr, operator: str = "*") -> bool:
    """Whether what stands around an expression would take it apart from a factor after it, or a power: `name % step`,
    `2 ** step`."""
    if not isinstance(around, ast.BinOp):
        return False
    after = isinstance(around.op, (ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult)) and around.right is e
    return (after and operator != "**") or isinstance(around.op, ast.Pow)


def needs_parentheses(e: ast.expr) -> bool:
    """Whether `e * x` would not mean `(e) * x`."""
    return (
        isinstance(e, _WEAK)
        or (isinstance(e, ast.BinOp) and isinstance(e.op, _WEAK_OPERATORS))
        or (isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not))
    )


def _depth(line: str) -> int:
    """Indentation steps of an inserted line, which is written with four spaces a step."""
    return (len(line) - len(line.lstrip(" "))) // 4


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n\\":
        at += 1
    return at
