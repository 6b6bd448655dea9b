"""The text of a guard: how statements come under `if hvd.rank() == 0:` with every other byte left as it is.

Shared by the rules that leave something to one rank (C6) or to one rank of a host (D4).
"""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections.abc import Iterator
from functools import cached_property

from horovodize.python.syntax import argument
from horovodize.rules.drafting import silence
from horovodize.rules.drafting.decisions import ByRank
from horovodize.rules.drafting.draft import CORE, HVD, ON_ROOT, Draft
from horovodize.rules.drafting.helper_text import config_at
from horovodize.rules.drafting.import_block import head_place
from horovodize.rules.output.folders import made_everywhere
from horovodize.source import Edit, Span
from horovodize.summary.call_paths import Frame
from horovodize.summary.effects import Effects
from horovodize.summary.outputs import Outputs, early_nodes

# Insertions before a statement, from the outside in: other rules' statements (0), what a guard must not hide, the guard.
# Each lifted expression takes a level of its own, so that they stay in order.
LIFTED, GUARD = 100, 1000
_STRINGS = tuple(
    getattr(ast, name) for name in ("Constant", "JoinedStr", "TemplateStr") if hasattr(ast, name)
)


def barrier(draft: Draft, name: str, place: ast.AST) -> list[str]:
    """Lines at a place that every rank leaves only when all have come to them. (`hvd.barrier` is missing from Horovod 0.28's
    TensorFlow modules, `hvd.join` from its Keras module; all ranks need the same name.) In a graph they open a session."""
    if not draft.in_sessions:
        return [f"{HVD}.broadcast(0, root_rank=0, name={draft.quoted(name)})"]
    if "from_root" in draft.helpers:
        return [f"{from_root(draft)}(0)"]
    config = config_at(draft, place, draft.sites.any_v1)
    # in a graph of its own: operations of the program's draw other numbers where there are more before them
    waiting, (_, v1) = draft.same_name("waiting"), draft.config_to_make or ("", "")
    return [
        f"with {v1}.Graph().as_default(), {v1}.Session(config={config}) as {waiting}:",
        # a random number: TensorFlow folds the sum of a constant into another one, and nobody waits
        f"    {waiting}.run({CORE}.allreduce({v1}.random_uniform([]), name={draft.quoted(name)}))",
    ]


def from_root(draft: Draft) -> str:
    """A function that gives every rank what rank 0 passes it."""
    if not draft.in_sessions:
        return f"{CORE}.broadcast_object"
    draft.session_config(draft.sites.any_v1)
    return draft.helper("from_root")


def outputs_of(draft: Draft) -> Outputs:
    """The output statements of a draft's module, seen from where Horovod is initialised."""
    if draft.outputs is None:
        early = set[ast.AST]()
        for tree in draft.syntax.trees:
            place = head_place(draft, tree)
            early |= early_nodes(draft.module, place.last if place is not None else None)
        effects = draft.facts.effects
        spoken = Outputs(draft.module, effects, early)
        if any(spoken.is_early(c) and effects.opening.written(c) is not None for c in effects.opening.calls):
            effects = Effects(draft.module, draft.sites, draft.drive, early=early)
            spoken = Outputs(draft.module, effects, early)
        silenced = silence.is_wanted(draft, spoken)
        folders = made_everywhere(draft, spoken)
        if folders or silenced:
            effects = Effects(draft.module, draft.sites, draft.drive, folders, early)
            spoken = Outputs(draft.module, effects, early, silenced)
        draft.outputs = spoken
    return draft.outputs


class Guarded:
    """What rank 0 alone runs, as far as it is decided yet."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.statements: set[ast.stmt] = set()  # the outermost ones
        self.lifted: set[ast.AST] = set()  # what is taken out of them: all ranks run it
        self.told: set[ast.AST] = (
            set()
        )  # calls and statements at which the ranks wait to be told a value by rank 0

    def __contains__(self, node: ast.AST) -> bool:
        """Whether a node is run by rank 0 only: it stands in a guard, or in functions that are only called there."""
        return all(any(self._inside(f.node) for f in way) for way in self.draft.drive.ways(node))

    def _inside(self, node: ast.AST) -> bool:
        for n in (node, *self.draft.syntax.ancestors(node)):
            if n in self.lifted or n in self.statements:
                return n not in self.lifted
        return False

    def collective(self, node: ast.AST) -> bool:
        """Whether a collective may stand at a node: all ranks come there alike, and run it in order."""
        return self.in_order(node) and self.draft.uniform.reached_alike(node)

    def in_order(self, node: ast.AST) -> bool:
        """Whether ranks that come to a node run it in one order."""
        ways = self.draft.drive.ways(node)
        if self.draft.drive.in_traced(node) or any(map(self._runs_aside, ways)):
            return False
        return not any(self._inside(f.node) for way in ways for f in way)

    def _runs_aside(self, way: tuple[Frame, ...]) -> bool:
        """Whether a generator leads to a node that `fit` or a data set draws from: in a thread of its own, beside the steps. Or
        a `lambda` does, which may be such a generator's."""
        if any(isinstance(a, ast.Lambda) for f in way for a in self.draft.syntax.ancestors(f.node)):
            return True
        for at, frame in enumerate(way):
            body = frame.function.body if isinstance(frame.function, ast.FunctionDef) else []
            if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for s in body for n in ast.walk(s)):
                if at + 1 == len(way) or way[at + 1].node in self._drawn_from:
                    return True
        return False

    @cached_property
    def _drawn_from(self) -> set[ast.AST]:
        """All that what each `fit` is given is made of."""
        fits = (e for fit in self.draft.sites.fits if (e := argument(fit.call, "x", 0)) is not None)
        return set(self.draft.values.depends(fits))


class Guards:
    """Writes guards into a draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self._inside: set[int] | bool | None = False

    # ------------------------------------------------------------------ places

    def is_elif(self, statement: ast.stmt) -> bool:
        start = self.draft.module.span(statement).start
        return isinstance(statement, ast.If) and self.draft.document.text.startswith("elif", start)

    def groups(self, block: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
        """The statements of a block, those that share a line together."""
        group: list[ast.stmt] = []
        for statement in block:
            if group and self.draft.first_line(statement) != group[-1].end_lineno:
                yield group
                group = []
            group.append(statement)
        if group:
            yield group

    def can_indent(self, first: ast.stmt, last: ast.stmt) -> bool:
        """Whether the lines from one statement to another can be moved one step to the right."""
        return self.draft.document.starts_line(first) and (
            first.lineno == last.end_lineno or self._string_lines() is not None
        )

    # ------------------------------------------------------------------ text

    def put(self, first: ast.stmt, last: ast.stmt, test: str = ON_ROOT, comment: str = "") -> list[Edit]:
        """Puts the lines from one statement to another (of the same block) under `if test:`, in a notebook one in each cell."""
        draft = self.draft
        block = draft.syntax.block(first)
        for before, after in itertools.pairwise(block[block.index(first) : block.index(last) + 1]):
            if draft.document.separates(draft.module.span(before).start, draft.module.span(after).start):
                return [*self.put(first, before, test, comment), *self.put(after, last, test, comment)]
        indent = draft.document.indentation(first)
        start = draft.document.lines.starts[first.lineno - 1] + len(indent)
        anchor = Span(start, draft.module.span(last).end)
        unit = self.step(first)
        head = "".join(
            f"{line}{draft.newline}{indent}" for line in draft.lines_of(f"if {test}:", comment=comment)
        )
        edits = [Edit.insert(start, head + unit, anchor, GUARD)]
        end = last.end_lineno or last.lineno
        for line in range(first.lineno, end):  # from 0: the lines after the first
            offset = self._indentable(line, indent)
            if offset is not None:
                edits.append(Edit.insert(offset, unit, None, GUARD))
        return edits

    def step(self, statement: ast.stmt) -> str:
        """One step of indentation as it is around a statement; files may have several."""
        draft = self.draft
        indent, outer = draft.document.indentation(statement), ""
        for around in draft.syntax.ancestors(statement):
            if isinstance(around, (ast.stmt, ast.ExceptHandler)):
                outer = draft.document.lines.content(around.lineno - 1)
                outer = outer[: len(outer) - len(outer.lstrip())]
                break
        own = indent[len(outer) :] if indent.startswith(outer) else ""
        return own if own and own.strip(own[0]) == "" else draft.unit

    def moved_in(self, node: ast.expr, unit: str) -> str:
        """A node's text, to be used one step further to the right."""
        draft, index = self.draft, self.draft.document.lines
        span, first = draft.module.span(node), node.lineno
        inside = self._string_lines() or set()
        text = draft.document.text[span.start : min(span.end, index.span(first - 1).end)]
        for line in range(first, node.end_lineno or first):
            content = draft.document.text[index.starts[line] : min(span.end, index.span(line).end)]
            text += content if line + 1 in inside or not content.strip() else unit + content
        return text

    def _indentable(self, line: int, indent: str) -> int | None:
        """Where a line (from 0) gets its step of indentation; None for lines that stay: blank ones, those that start
        inside a string, comments that are not indented with the block."""
        content = self.draft.document.lines.content(line)
        inside = self._string_lines()
        if not content.strip() or (inside is not None and line + 1 in inside):
            return None
        start = self.draft.document.lines.starts[line]
        if content.startswith(indent):
            return start + len(indent)
        return None if content.lstrip().startswith("#") else start

    def _string_lines(self) -> set[int] | None:
        """The lines (from 1) that start inside a string; None when the text can't be read token by token."""
        if isinstance(self._inside, bool):
            self._inside = _lines_inside_strings(self.draft)
        return self._inside

    def extend_test(self, statement: ast.If, test: str = ON_ROOT) -> list[Edit]:
        """`if a:` → `if a and hvd.rank() == 0:`"""
        draft, own = self.draft, statement.test
        draft.decide(statement, ByRank("C6"))
        span = draft.module.span(own)
        end = self._past_parentheses(span.end)
        if (end == span.end and isinstance(own, (ast.IfExp, ast.Lambda, ast.NamedExpr))) or (
            end == span.end and isinstance(own, ast.BoolOp) and isinstance(own.op, ast.Or)
        ):
            return list(Edit.around(span, "(", f") and {test}"))
        return [Edit.insert(end, f" and {test}", span)]

    def precede_test(self, statement: ast.If) -> list[Edit]:
        """`if manager.save():` → `if hvd.rank() == 0 and manager.save():`"""
        own = statement.test
        self.draft.decide(statement, ByRank("C6"))
        loose = isinstance(own, (ast.IfExp, ast.Lambda, ast.NamedExpr)) or (
            isinstance(own, ast.BoolOp) and isinstance(own.op, ast.Or)
        )
        opening, closing = ("(", ")") if loose else ("", "")
        return list(Edit.around(self.draft.module.span(own), f"{ON_ROOT} and {opening}", closing))

    def _past_parentheses(self, at: int) -> int:
        """The end of the parentheses around a test: what stands before its colon."""
        text, end = self.draft.document.text, at
        while at < len(text):
            if text[at] == "#":
                line = self.draft.document.lines.line_of(at)
                at = self.draft.document.lines.span(line).end
            elif text[at] == ")":
                at = end = at + 1
            elif text[at] in " \t\r\n\\\f":
                at += 1
            else:
                break
        return end

    def only_on_root(self, expression: ast.expr, otherwise: str = "None", test: str = ON_ROOT) -> list[Edit]:
        """`e` → `e if hvd.rank() == 0 else None`, in parentheses where the surroundings need them."""
        draft = self.draft
        span = draft.module.span(expression)
        own = isinstance(expression, (ast.IfExp, ast.Lambda, ast.NamedExpr))
        outer = needs_own_parentheses(draft, expression)
        opening, closing = "(" * outer + "(" * own, ")" * own
        return list(Edit.around(span, opening, f"{closing} if {test} else {otherwise}" + ")" * outer))


def needs_own_parentheses(draft: Draft, expression: ast.expr) -> bool:
    """Whether a conditional expression in the place of an expression needs parentheses."""
    parent = draft.syntax.parent.get(expression)
    if isinstance(
        parent, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.keyword, ast.withitem)
    ):
        return False
    if isinstance(parent, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
        return isinstance(parent, ast.Tuple)
    if isinstance(parent, ast.Call):
        return draft.syntax.field[expression] == "func"
    return not isinstance(parent, ast.Lambda)


def _lines_inside_strings(draft: Draft) -> set[int] | None:
    found: set[int] = set()
    try:
        for node in draft.syntax.every(*_STRINGS):
            if (node.end_lineno or 0) > node.lineno:
                if any(isinstance(around, _STRINGS) for around in draft.syntax.ancestors(node)):
                    continue  # inside an f-string, whose lines count as a whole
                found.update(_lines_inside(draft.module.text(node), node.lineno))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return found


def _lines_inside(text: str, first: int) -> Iterator[int]:
    """The lines that start inside a string, of strings one after another; the first line has this number."""
    opened: list[int] = []  # Python 3.12 and later: the lines on which open f-strings start
    lines = io.StringIO(f"({text})", newline=None).readline
    for token in tokenize.generate_tokens(lines):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            yield from range(first + token.start[0], first + token.end[0])
        elif kind.endswith("STRING_START"):
            opened.append(token.start[0])
        elif kind.endswith("STRING_END"):
            yield from range(first + opened.pop(), first + token.end[0])
