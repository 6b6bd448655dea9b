"""What the findings about the order of a run share: the conflicts of a script, found out once, and the fix that orders two."""

from __future__ import annotations

import ast

from horovodize.ordering.conflicts import Conflict, Conflicts, Kind
from horovodize.restrictions.context import Context
from horovodize.restrictions.violation import Fix, Related
from horovodize.source import Edit

_MEMO = "ordering"


def conflicts(context: Context, *kinds: Kind) -> list[Conflict]:
    """The conflicts of some kinds in what sessions run."""
    if _MEMO not in context.memo:
        context.memo[_MEMO] = Conflicts(context.facts)
    known = context.memo[_MEMO]
    assert isinstance(known, Conflicts)
    return [c for c in known.all if c.kind in kinds]


def is_trained_and_assigned(context: Context, conflict: Conflict) -> bool:
    """Whether the same run is reported because it trains the variable and assigns to it."""
    return any(
        c.run is conflict.run and c.variable == conflict.variable
        for c in conflicts(context, Kind.TRAINED_AND_ASSIGNED)
    )


def ends(conflict: Conflict) -> str:
    """The two outcomes: "1 or 2", where both are known."""
    first, second = conflict.ends
    return f"{first:g} or {second:g}" if first is not None and second is not None else ""


def related(context: Context, conflict: Conflict, first: str) -> list[Related]:
    """The other place of a pair, and the run."""
    found = [context.related(conflict.first, first)]
    if not context.syntax.inside(conflict.second, conflict.run):
        found.append(context.related(conflict.run, "both run here"))
    return found


def in_order(context: Context, conflict: Conflict) -> Fix | None:
    """The fix that has the second wait for the first, where both stand in one block and the first has a name."""
    first, second = (context.syntax.statement(node) for node in (conflict.first, conflict.second))
    if not isinstance(first, ast.Assign) or len(first.targets) != 1:
        return None
    between, target = _between(context, first, second), first.targets[0]
    if between is None or not isinstance(target, (ast.Name, ast.Attribute)) or _is_rebound(target, between):
        return None
    name = context.text(target)
    waits = name if isinstance(first.value, (ast.List, ast.Tuple, ast.ListComp)) else f"[{name}]"
    edit = under(context, second, waits)
    return Fix(f"Let it wait for `{name}`", (edit,)) if edit is not None else None


def _between(context: Context, first: ast.stmt, second: ast.stmt) -> list[ast.stmt] | None:
    """The statements from one, or from the `with` statements around it, to another of that block; None where there is none."""
    outer = first
    while second not in context.syntax.block(outer):
        around = context.syntax.parent[outer]
        if not isinstance(around, ast.With):
            return None
        outer = around
    block = context.syntax.block(outer)
    return block[block.index(outer) + 1 : block.index(second)] if outer is not second else None


def _is_rebound(target: ast.expr, statements: list[ast.stmt]) -> bool:
    """Whether a name may stand for something else after some statements."""
    text = ast.unparse(target)
    return any(
        isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Store) and ast.unparse(n) == text
        for s in statements
        for n in ast.walk(s)
    )


def under(context: Context, statement: ast.stmt, waits: str) -> Edit | None:
    """The edit that puts a statement under `control_dependencies`."""
    tensorflow, document = context.module.tensorflow_name(), context.document
    alone = isinstance(statement, (ast.Assign, ast.Expr)) and document.starts_line(statement)
    shares = any(
        s is not statement and s.lineno == statement.end_lineno for s in context.syntax.block(statement)
    )
    if tensorflow is None or not alone or shares:
        return None
    span = context.module.span(statement)
    inner = document.indentation(statement) + document.indent_unit
    return Edit.insert(
        span.start, f"with {tensorflow}.control_dependencies({waits}):{document.newline}{inner}", span
    )
