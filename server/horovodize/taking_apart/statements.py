"""Statements printed again by LibCST, with what was buried in them taken out."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from horovodize.python.module import Module
from horovodize.python.syntax import COMPREHENSIONS
from horovodize.source import Document, Edit, Span
from horovodize.source.lines import LineIndex
from horovodize.summary import ModuleSummary
from horovodize.summary.buried import Buried, Form
from horovodize.taking_apart import loops
from horovodize.taking_apart.nodes import (
    Replace,
    Statement,
    assign,
    block,
    in_front,
    in_own_indentation,
    indented,
    negated_break,
    on_own_lines,
)

_KINDS: dict[type[ast.expr], type[cst.BaseExpression]] = {
    ast.Lambda: cst.Lambda,
    ast.Call: cst.Call,
    ast.IfExp: cst.IfExp,
    ast.BoolOp: cst.BooleanOperation,
}


def edits_for(summary: ModuleSummary, found: Sequence[Buried]) -> list[Edit]:
    """The edits that take expressions out of their statements, as many as don't touch the same lines: one round of them."""
    module = summary.module
    assert module is not None
    edits: list[Edit] = []
    for buried in found:
        span = _lines(module, buried.statement)
        if any(span.overlaps(e.span) for e in edits) or _has_command(module, span):
            continue
        unit = _Unit(module, span)
        after = unit.parted(buried.statement) if buried.form is Form.PARTED else unit.without(buried)
        if after is not None and buried.form is Form.FUNCTION and after.startswith("def "):
            after = _set_off(module.document, span, after, unit.newline)
        if after is not None:
            edits.append(Edit(span, after))
    return sorted(edits, key=lambda e: e.span)


def _set_off(document: Document, span: Span, text: str, newline: str) -> str:
    """A function at the top level, two blank lines from what is around it."""

    def missing(*numbers: int) -> int:
        lines = document.lines
        blank = itertools.takewhile(lambda n: 0 <= n < len(lines) and not lines.content(n).strip(), numbers)
        return 2 - len(list(blank))

    first, last = document.lines.line_of(span.start), document.lines.line_of(span.end)
    return newline * missing(first - 1, first - 2) + text + newline * missing(last + 1, last + 2)


def _has_command(module: Module, span: Span) -> bool:
    return any(span.overlaps(command) for command in module.document.commands)


def _lines(module: Module, statement: ast.stmt) -> Span:
    """The whole lines of a statement, with all that shares one with it."""
    document, unit = module.document, statement
    while True:
        block_ = module.syntax.block(unit)
        first = block_.index(unit)
        while first and not document.starts_line(block_[first]) and not _is_elif(module, block_[first]):
            first -= 1
        if document.starts_line(block_[first]):
            break
        parent = module.syntax.parent[block_[first]]
        unit = module.syntax.statement(parent)
    last = first
    end = block_[block_.index(unit)].end_lineno or unit.lineno
    while last + 1 < len(block_) and (
        block_[last + 1].lineno <= end or not document.starts_line(block_[last + 1])
    ):
        last += 1
        end = max(end, block_[last].end_lineno or 0)
    lines = document.lines
    start = min([block_[first].lineno, *(d.lineno for d in getattr(block_[first], "decorator_list", ()))])
    return Span(lines.starts[start - 1], lines.starts[end - 1] + len(lines.content(end - 1)))


def _is_elif(module: Module, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and module.text(statement).startswith("elif")


class _Unit:
    """Whole lines of a document as a tree of LibCST's."""

    def __init__(self, module: Module, span: Span) -> None:
        self.module = module
        text = module.document.text[span.start : span.end]
        self.newline = "\r\n" if "\r\n" in text else module.document.newline
        self.head = f"if 1:{self.newline}" if text[:1] in (" ", "\t") else ""
        self.offset = span.start - len(self.head)
        self.text = self.head + text
        tree = in_own_indentation(cst.parse_module(self.text)).with_changes(
            default_newline=self.newline, default_indent=module.document.indent_unit
        )
        wrapper = MetadataWrapper(tree, unsafe_skip_copy=True)
        self.tree = wrapper.module
        self.positions = wrapper.resolve(PositionProvider)
        self.parents = wrapper.resolve(ParentNodeProvider)
        self.lines = LineIndex(self.text)

    # ------------------------------------------------------------------ finding

    def _span(self, node: cst.CSTNode) -> Span:
        at = self.positions[node]
        start, end = (self.lines.starts[p.line - 1] + p.column for p in (at.start, at.end))
        return Span(start + self.offset, end + self.offset)

    def _find(self, node: ast.expr) -> cst.BaseExpression | None:
        """The node of this tree for one of `ast`'s."""
        if isinstance(node, COMPREHENSIONS):
            return self._find_comprehension(node)
        wanted, kind = self.module.span(node), _KINDS[type(node)]
        found = (n for n in self.positions if isinstance(n, kind) and self._span(n) == wanted)
        return next((n for n in found if isinstance(n, cst.BaseExpression)), None)

    def _find_comprehension(self, node: ast.expr) -> cst.BaseExpression | None:
        """By the first name that it binds: brackets belong to a generator for one tree, and not for the other."""
        target: ast.expr = node.generators[0].target  # type: ignore[attr-defined]
        names = [self.module.span(n) for n in ast.walk(target) if isinstance(n, ast.Name)]
        for n in self.positions if names else ():
            if isinstance(n, cst.Name) and self._span(n) == min(names):
                up: cst.CSTNode = n
                while not isinstance(up, cst.CompFor):
                    up = self.parents[up]
                found = self.parents[up]
                return found if isinstance(found, cst.BaseExpression) else None
        return None

    def _statement(self, node: cst.CSTNode) -> Statement:
        while not isinstance(
            node, (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.BaseCompoundStatement)
        ):
            node = self.parents[node]
        return node

    # ------------------------------------------------------------------ taking out

    def parted(self, statement: ast.stmt) -> str | None:
        """The text of the lines where all that shares one with a statement has a line of its own."""
        start = self.module.span(statement).start
        found = (
            n
            for n in self.positions
            if isinstance(n, cst.BaseSmallStatement) and self._span(n).start == start
        )
        node = next(found, None)
        line_ = self._statement(node) if node is not None else None
        parted = on_own_lines(line_) if line_ is not None else None
        return self._printed({line_: parted}) if line_ is not None and parted is not None else None

    def without(self, buried: Buried) -> str | None:
        """The text of the lines with one expression taken out; or, where it shares its line, with all on lines of their own:
        what is left to do is found in the next round."""
        expression, whole = self._find(buried.expression), self._find(buried.whole)
        if expression is None or whole is None:
            return None
        statement = self._statement(whole)
        parted = on_own_lines(statement)
        suite = statement.body if isinstance(statement, (cst.While, cst.For)) else None
        if isinstance(suite, cst.SimpleStatementSuite):
            statement, parted = suite, indented(suite)
        if parted is not None:
            return self._printed({statement: parted})
        return self._printed(self._taken_out(buried, expression, whole, statement))

    def _printed(self, replaced: dict[cst.CSTNode, object]) -> str | None:
        if not replaced:
            return None
        after = self.tree.visit(Replace(replaced))
        assert isinstance(after, cst.Module)
        code = after.code
        try:
            ast.parse(code)
        except SyntaxError:  # never seen; better refused than wrong
            return None
        return code[len(self.head) :]

    def _taken_out(
        self, buried: Buried, expression: cst.BaseExpression, whole: cst.BaseExpression, statement: Statement
    ) -> dict[cst.CSTNode, object]:
        match buried.form:
            case Form.FUNCTION:
                assert isinstance(expression, cst.Lambda)
                new: list[Statement] = [_function(expression, buried.name or "")]
            case Form.HOISTED:
                new = [assign(buried.name or "", whole)]
            case Form.BRANCHED:
                assert isinstance(statement, cst.SimpleStatementLine)
                branched = loops.branched(statement, whole)
                return {statement: branched} if branched is not None else {}
            case Form.TESTED:
                assert isinstance(statement, cst.While)
                return {statement: _tested(statement, whole, buried.name or "")}
            case Form.MERGED:
                assert isinstance(statement, cst.For)
                merged = loops.merged(statement, expression, buried.renamed)
                return {statement: merged} if merged is not None else {}
            case _:
                made = loops.loop(buried, expression)
                if made is None:
                    return {}
                new = made
        goes = buried.is_target or buried.form is Form.DROPPED
        left = None if goes else cst.Name(buried.name or "")
        elif_of = self.parents[statement]
        is_elif = (
            isinstance(statement, cst.If) and isinstance(elif_of, cst.If) and elif_of.orelse is statement
        )
        return in_front(statement, new, whole, left, is_elif)


def _function(node: cst.Lambda, name: str) -> cst.FunctionDef:
    return cst.FunctionDef(
        cst.Name(name), node.params, block([cst.SimpleStatementLine([cst.Return(node.body)])])
    )


def _tested(loop: cst.While, step: cst.BaseExpression, name: str) -> cst.While:
    """`while n < 9 and step() > x:` → `while n < 9:`, whose body begins with the step and leaves where `not result > x`."""
    values = _joined_by_and(loop.test)
    i = next(i for i, v in enumerate(values) if v is step or _holds(v, step))
    rest = [v.visit(Replace({step: cst.Name(name)})) if v is not step else cst.Name(name) for v in values[i:]]
    test = _and(values[:i]) if i else cst.Name("True")
    first = [assign(name, step), negated_break(_and([r for r in rest if isinstance(r, cst.BaseExpression)]))]
    assert isinstance(loop.body, cst.IndentedBlock)
    return loop.with_changes(test=test, body=loop.body.with_changes(body=[*first, *loop.body.body]))


def _holds(node: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return node is inner or any(_holds(child, inner) for child in node.children)


def _joined_by_and(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.And) and not node.lpar:
        return [*_joined_by_and(node.left), node.right]
    return [node]


def _and(values: Sequence[cst.BaseExpression]) -> cst.BaseExpression:
    joined = values[0]
    for value in values[1:]:
        joined = cst.BooleanOperation(joined, cst.And(), value)
    return joined
