"""A table of rates, one for each step, from which one more is picked by the number of a step: part of C5.

A rank takes the rates of every size()-th step, `rates[step * hvd.size()]`, and notes as many losses. Where the least of those
is, `rates[np.argmin(losses)]`, is a number of a rank's steps: a rate of an earlier step would be picked. That is asked."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.decisions import OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import walk

_WHAT = "Pick by the steps of all ranks together"
_WHY = "A rank takes the rates of every size()-th step, so what it notes of its steps has other numbers."
_ASKED = (
    "this may be the number of a step of a rank, and `{table}` has a value for each step of all ranks: if so, pick by "
    "`{index} * hvd.size()`"
)
_PLACES = ("argmin", "argmax", "nanargmin", "nanargmax", "index", "argsort", "searchsorted")
_LIMIT = 200


def ask(draft: Draft) -> None:
    told = [s for s in draft.syntax.every(ast.Subscript) if _is_told(draft, s)] if draft.having(OfAll) else []
    tables = {draft.module.text(s.value) for s in told}
    for item in draft.syntax.every(ast.Subscript) if tables else ():
        table = draft.module.text(item.value)
        if item in told or table not in tables or not isinstance(item.ctx, ast.Load):
            continue
        if _is_place(draft, item.slice) and draft.once("picked by turn", item):
            index = draft.module.text(item.slice)
            draft.ask("C5", item.slice, _WHAT, _WHY, _ASKED.format(table=table, index=index))


def _is_told(draft: Draft, item: ast.Subscript) -> bool:
    """Whether a table is read by a count that is told the steps of all ranks; not rows, from one number to another."""
    parts = walk(item.slice)
    return any(draft.was(n, OfAll) for n in parts) and not any(isinstance(n, ast.Slice) for n in parts)


def _is_place(draft: Draft, index: ast.expr) -> bool:
    """Whether an index says where something is in what the program noted."""
    found = draft.values.depends([index], _LIMIT)
    return any(isinstance(n, ast.Call) and draft.names.last(n.func) in _PLACES for n in found)


__all__ = ["ask"]
