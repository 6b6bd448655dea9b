"""Small pieces that statements are put together from again."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

import libcst as cst

Statement: TypeAlias = cst.SimpleStatementLine | cst.SimpleStatementSuite | cst.BaseCompoundStatement
E = TypeVar("E", bound=cst.BaseExpression)


class Replace(cst.CSTTransformer):
    """Puts other nodes in the place of some. What is put in is not looked into."""

    def __init__(self, replaced: Mapping[cst.CSTNode, object]) -> None:
        super().__init__()
        self._replaced = replaced

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node not in self._replaced

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> object:  # type: ignore[override]
        return self._replaced.get(original_node, updated_node)


class _Indentation(cst.CSTTransformer):
    def __init__(self, default: str) -> None:
        super().__init__()
        self._default = default

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        own = self._default if updated_node.indent is None else updated_node.indent
        return updated_node.with_changes(indent=own)


def in_own_indentation(tree: cst.Module) -> cst.Module:
    """A module whose blocks keep their indentation, whatever the default becomes."""
    return tree.visit(_Indentation(tree.default_indent))


def block(statements: Sequence[cst.BaseStatement]) -> cst.IndentedBlock:
    return cst.IndentedBlock(list(statements))


def line(text: str) -> cst.SimpleStatementLine:
    made = cst.parse_statement(text)
    assert isinstance(made, cst.SimpleStatementLine)
    return made


def assign(name: str, value: cst.BaseExpression) -> cst.SimpleStatementLine:
    target = cst.AssignTarget(cst.Name(name))
    return cst.SimpleStatementLine([cst.Assign([target], standing_alone(value))])


def evaluate(value: cst.BaseExpression) -> cst.SimpleStatementLine:
    return cst.SimpleStatementLine([cst.Expr(standing_alone(value))])


def negated_break(test: cst.BaseExpression) -> cst.If:
    return cst.If(negated(test), block([line("break")]))


def negated(test: cst.BaseExpression) -> cst.BaseExpression:
    needs = not isinstance(test, (cst.Name, cst.Call, cst.Attribute)) and not test.lpar
    return cst.UnaryOperation(cst.Not(), in_parentheses(test) if needs else test)


def in_parentheses(e: E) -> E:
    return e.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def standing_alone(e: E) -> E:
    """An expression as it can be written outside of brackets."""
    try:
        ast.parse(f"_ = {cst.Module([]).code_for_node(e)}")
    except SyntaxError:
        return in_parentheses(e)
    return e


def on_own_lines(statement: Statement) -> object | None:
    """A line of several statements, or a suite on the line of its header, with each on its own; None where that is so."""
    if isinstance(statement, cst.SimpleStatementSuite):
        return indented(statement)
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) > 1:
        return cst.FlattenSentinel(_parted(statement))
    return None


def indented(suite: cst.SimpleStatementSuite) -> cst.IndentedBlock:
    return block(_parted(suite))


def _parted(line_: cst.SimpleStatementLine | cst.SimpleStatementSuite) -> list[cst.SimpleStatementLine]:
    parts = [s.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for s in line_.body]
    lines = [cst.SimpleStatementLine([part]) for part in parts]
    if isinstance(line_, cst.SimpleStatementLine):
        lines[0] = lines[0].with_changes(leading_lines=line_.leading_lines)
    lines[-1] = lines[-1].with_changes(trailing_whitespace=line_.trailing_whitespace)
    return lines


def in_front(
    statement: Statement,
    new: Sequence[Statement],
    whole: cst.BaseExpression,
    left: cst.BaseExpression | None,
    is_elif: bool,
) -> dict[cst.CSTNode, object]:
    """Statements in front of one, in which `left` takes the place of `whole`; without `left` it goes."""
    first = new[0].with_changes(leading_lines=() if is_elif else getattr(statement, "leading_lines", ()))
    if left is None:
        assert isinstance(statement, cst.SimpleStatementLine)
        comment = statement.trailing_whitespace
        if isinstance(first, cst.SimpleStatementLine):
            first = first.with_changes(trailing_whitespace=comment)
        elif isinstance(first, (cst.For, cst.FunctionDef)) and comment.comment is not None:
            first = first.with_changes(body=first.body.with_changes(header=comment))
        return {statement: cst.FlattenSentinel([first, *new[1:]])}
    kept = statement.visit(Replace({whole: left})).with_changes(leading_lines=())  # type: ignore[union-attr]
    if is_elif:
        body = block([first, *new[1:], kept])  # type: ignore[list-item]
        return {statement: cst.Else(body, leading_lines=getattr(statement, "leading_lines", ()))}
    return {statement: cst.FlattenSentinel([first, *new[1:], kept])}


def comments_in(node: cst.CSTNode, kept: Sequence[cst.CSTNode]) -> list[cst.EmptyLine]:
    """The comments of a node outside the parts of it that are kept, as lines of their own."""
    if any(node is k for k in kept):
        return []
    if isinstance(node, cst.Comment):
        return [cst.EmptyLine(comment=node)]
    return [c for child in node.children for c in comments_in(child, kept)]
