"""What goes by the number of a `fit`'s epochs beside what the `fit` has kept of them: part of K4, where the epochs are divided.

`plt.plot(range(EPOCHS), history.history["loss"])` fails where the history has 1/size() of the epochs: that is divided, too.
What reads the history by the number otherwise is asked about."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS, LOOPS
from horovodize.rules.counts import unseen_counts
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import change_count, feeding

_WHAT = "Count as many epochs as there are now"
_WHY = "The history of a fit has an entry for each of its epochs."
_ASKED = "this goes by the number of epochs beside what a fit has kept of them, of which there are size() times fewer now"
_RANGES = ("range", "arange", "linspace")
_LIMIT = 600


def divide(draft: Draft, fit: ast.Call, epochs: ast.expr) -> None:
    """Divides the ranges that go with the history of a `fit`, whose epochs have been divided."""
    for read in _reads(draft, fit, epochs):
        made = _range(draft, read)
        if not any(_is_beside(draft, place, fit) for place in _places(draft, read)):
            continue
        if made is None:
            item = any(isinstance(a, ast.Subscript) for a in draft.syntax.ancestors(read))
            if item or not unseen_counts.is_shown(draft, read):
                draft.ask("K4", read, _WHAT, _WHY, _ASKED)
        elif draft.names.last(made.func) != "linspace" or read in (made.args[2:3] or made.keywords):
            change_count(draft, "K4", read, _WHAT, _WHY)


def _reads(draft: Draft, fit: ast.Call, epochs: ast.expr) -> Iterator[ast.expr]:
    """Where the same number is read elsewhere: under the same name, or in a range as the same constant."""
    text, known = ast.unparse(epochs), feeding(draft).kinds.constant(epochs)
    for n in draft.syntax.every(ast.Name, ast.Attribute, ast.Constant):
        if draft.syntax.inside(n, fit):
            continue
        if isinstance(n, ast.Constant):
            if (
                known is not None
                and type(n.value) is int
                and n.value == known
                and _range(draft, n) is not None
            ):
                yield n
        elif isinstance(n.ctx, ast.Load) and ast.unparse(n) == text:
            yield n


def _range(draft: Draft, e: ast.expr) -> ast.Call | None:
    """The range that an expression is the end of: `range(n)`, `np.arange(1, n + 1)`"""
    around: ast.AST = draft.syntax.parent[e]
    while isinstance(around, (ast.BinOp, ast.keyword)):
        around = draft.syntax.parent[around]
    is_range = isinstance(around, ast.Call) and draft.names.last(around.func) in _RANGES
    return around if is_range and isinstance(around, ast.Call) else None


def _places(draft: Draft, read: ast.expr) -> Iterator[ast.AST]:
    """The statements that a number goes to, with those that read what is set to it."""
    statement = draft.syntax.statement(read)
    yield statement
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        if isinstance(target, ast.Name):
            home = draft.module.scopes.lookup(target.id, target)
            for n in draft.module.loads.get(target.id):
                if isinstance(n, ast.Name) and draft.module.scopes.lookup(n.id, n) is home:
                    yield draft.syntax.statement(n)


def _is_beside(draft: Draft, place: ast.AST, fit: ast.Call) -> bool:
    """Whether a statement, or the loop that it begins, reads what a `fit` gives."""
    if isinstance(place, (*FUNCTIONS, ast.ClassDef)) or draft.syntax.inside(fit, place):
        return False
    parts = place.body if isinstance(place, LOOPS) else [place]
    read = [n for s in parts for n in ast.walk(s) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
    loads = [n for n in read if isinstance(n.ctx, ast.Load)]
    return any(n is fit for n in draft.values.depends(loads, _LIMIT))


__all__ = ["divide"]
