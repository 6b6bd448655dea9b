"""Rows that a step gives back, and that are set beside all rows then: `roc_auc_score(y, predicted)`, part of strong scaling.

Of a rank's share a step gives as many rows as the share has: beside all of them they fit no more. Such a step computes all
rows on each rank, as one process did."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.feeds.steps import Step
from horovodize.python.syntax import arguments
from horovodize.python.variables import bound_names
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import walk

_SHOWING = ("print", "format", "str", "repr", "append", "write", "info", "debug", "len", "shape")


def set_beside(draft: Draft, step: Step) -> ast.expr | None:
    """Where what a session's step gives is set beside the rows that it was fed: in one call, one comparison, one difference."""
    if step.site not in [run.call for run in draft.sites.graph.trainings]:
        return None
    statement = draft.syntax.statement(step.site)
    if not isinstance(statement, ast.Assign) or statement.value is not step.site:
        return None
    given = {name for target in statement.targets for name in bound_names(target)} - {"_"}
    fed = {
        ast.unparse(rows) for rows in step.rows if isinstance(rows, (ast.Name, ast.Attribute, ast.Subscript))
    }
    function = draft.syntax.function(step.site)
    for e in _pairs(draft):
        if draft.syntax.function(e) is not function or draft.syntax.inside(e, statement):
            continue
        parts = _sides(e)
        of_step = [
            p for p in parts if any(isinstance(n, ast.Name) and n.id in given for n in _rows_in(draft, p))
        ]
        of_all = [
            p
            for p in parts
            if any(isinstance(n, ast.expr) and ast.unparse(n) in fed for n in _rows_in(draft, p))
        ]
        if of_step and of_all and any(p is not q for p in of_step for q in of_all):
            return e
    return None


def _pairs(draft: Draft) -> Iterator[ast.expr]:
    yield from (c for c in draft.syntax.calls if draft.names.last(c.func) not in _SHOWING)
    yield from draft.syntax.every(ast.Compare)
    yield from (b for b in draft.syntax.every(ast.BinOp) if isinstance(b.op, (ast.Sub, ast.Mult)))


def _sides(e: ast.expr) -> list[ast.expr]:
    if isinstance(e, ast.Call):
        return arguments(e)
    if isinstance(e, ast.Compare):
        return [e.left, *e.comparators]
    return [e.left, e.right] if isinstance(e, ast.BinOp) else []


def _rows_in(draft: Draft, e: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression, but for what only their number is asked of, `len(y)`, `y.shape[0]`."""
    for n in walk(e):
        around = draft.syntax.parent.get(n)
        counts = isinstance(around, ast.Call) and draft.names.last(around.func) == "len"
        if not counts and not (isinstance(around, ast.Attribute) and around.attr in ("shape", "size")):
            yield n
