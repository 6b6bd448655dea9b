"""Lists that give their oldest item away once they hold so many: windows made by hand. Part of G7.

losses.append(loss)
if len(losses) > 20:
    losses.pop(0)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.rules.drafting.draft import Draft


@dataclass(frozen=True)
class Capped:
    """A list of the last items."""

    held: ast.Name | ast.Attribute  # the list, where it is cut
    most: ast.expr  # how many it holds: `20`

    def reads(self, draft: Draft) -> Iterator[ast.expr]:
        """Where the list is read, in the function that cuts it, or in the class whose field it is."""
        text, around = ast.unparse(self.held), _home(draft, self.held)
        for n in draft.syntax.every(type(self.held)):
            if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load):
                if ast.unparse(n) == text and _home(draft, n) is around:
                    yield n


def every(draft: Draft) -> Iterator[Capped]:
    """All lists that a statement cuts to a number of items."""
    for statement in draft.syntax.every(ast.If, ast.Assign, ast.Delete):
        found = _cut_if_longer(statement) if isinstance(statement, ast.If) else _cut(statement)
        if found is not None:
            yield found


def is_capped(draft: Draft, held: ast.expr) -> bool:
    """Whether a list gives items away while it is filled, so that its length doesn't count."""
    text = ast.unparse(held)
    return any(
        ast.unparse(c.held) == text and _home(draft, c.held) is _home(draft, held) for c in every(draft)
    )


def _cut_if_longer(statement: ast.If) -> Capped | None:
    """`if len(losses) > 20: losses.pop(0)`, `… del losses[0]`, `… losses = losses[1:]`"""
    match statement:
        case ast.If(
            test=ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[held]),
                ops=[ast.Gt() | ast.GtE()],
                comparators=[most],
            ),
            body=[only],
            orelse=[],
        ) if isinstance(held, (ast.Name, ast.Attribute)) and _gives_first_away(only, ast.unparse(held)):
            return Capped(held, most)
    return None


def _gives_first_away(statement: ast.stmt, text: str) -> bool:
    match statement:
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="pop"), args=[ast.Constant(value=0)]))
            | ast.Delete(targets=[ast.Subscript(value=held, slice=ast.Constant(value=0))])
        ):
            return ast.unparse(held) == text
        case ast.Assign(
            targets=[held],
            value=ast.Subscript(
                value=cut, slice=ast.Slice(lower=ast.Constant(value=1), upper=None, step=None)
            ),
        ):
            return ast.unparse(held) == ast.unparse(cut) == text
    return False


def _cut(statement: ast.AST) -> Capped | None:
    """`losses = losses[-20:]`, `losses[:] = losses[-20:]`, `del losses[:-20]`"""
    match statement:
        case ast.Assign(
            targets=[held],
            value=ast.Subscript(
                value=cut,
                slice=ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=most), upper=None, step=None),
            ),
        ):
            if isinstance(held, ast.Subscript) and isinstance(held.slice, ast.Slice):
                held = held.value
            same = ast.unparse(held) == ast.unparse(cut)
            return Capped(cut, most) if same and isinstance(cut, (ast.Name, ast.Attribute)) else None
        case ast.Delete(
            targets=[
                ast.Subscript(
                    value=ast.Name() | ast.Attribute() as cut,
                    slice=ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=most), step=None),
                )
            ]
        ):
            return Capped(cut, most)
    return None


def _home(draft: Draft, held: ast.expr) -> ast.AST | None:
    """The class whose field a list is, or the function whose name."""
    return draft.syntax.owner(held) if isinstance(held, ast.Attribute) else draft.syntax.function(held)
