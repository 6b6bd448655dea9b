"""A quick fix that several restrictions share: give an expression a variable of its own, in a statement before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import CALLABLES, COMPREHENSIONS
from horovodize.restrictions.context import Context
from horovodize.restrictions.violation import Fix
from horovodize.source import Edit


def extract(context: Context, expression: ast.expr, wanted: str) -> Fix | None:
    """The fix that evaluates an expression in a statement before its own; None where that could change what the program
    does: it is not evaluated exactly once there, or something else has to be evaluated first."""
    statement = context.syntax.statement(expression)
    if not context.document.starts_line(statement) or not _evaluated_first(context, expression, statement):
        return None
    span = context.module.span(expression)
    text = context.document.text[span.start : span.end]
    name = context.fresh(wanted)
    start = context.module.span(statement).start
    indent = context.document.indentation(statement)
    assignment = f"{name} = {_standing_alone(text)}{context.document.newline}{indent}"
    shown = context.text(expression)
    return Fix(
        f"Evaluate `{shown}` in a statement of its own",
        (Edit.insert(start, assignment, context.module.span(statement)), Edit(span, name)),
    )


def _standing_alone(text: str) -> str:
    """In parentheses, if it would end at its first line without them."""
    try:
        ast.parse(f"x = {text}")
    except SyntaxError:
        return f"({text})"
    return text


def _evaluated_first(context: Context, expression: ast.expr, statement: ast.stmt) -> bool:
    """Whether a statement, when it runs, evaluates an expression once and calls nothing before it."""
    if isinstance(statement, (ast.While, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Assert)):
        return False
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.If)) or _is_elif(
        context, statement
    ):
        return False
    child: ast.AST = expression
    while child is not statement:
        parent = context.syntax.parent[child]
        if isinstance(parent, (*CALLABLES, *COMPREHENSIONS)):
            return False
        if isinstance(parent, ast.IfExp) and child is not parent.test:
            return False
        if isinstance(parent, ast.BoolOp) and child is not parent.values[0]:
            return False
        if isinstance(parent, ast.Compare) and child in parent.comparators[1:]:
            return False
        if any(_acts(node) for node in _before(parent, child)):
            return False
        child = parent
    return True


def _is_elif(context: Context, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and context.document.text.startswith(
        "elif", context.module.span(statement).start
    )


def _before(parent: ast.AST, child: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that are evaluated before one of them."""
    if isinstance(parent, ast.Assign):
        return  # targets come last
    if isinstance(parent, ast.Dict):
        for key, value in zip(parent.keys, parent.values, strict=True):
            for item in (key, value):
                if item is child:
                    return
                if item is not None:
                    yield item
        return
    for part in ast.iter_child_nodes(parent):
        if part is child:
            return
        yield part


def _acts(node: ast.AST) -> bool:
    return any(
        isinstance(n, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)) for n in ast.walk(node)
    )
