"""Records that are replaced with each step, of which a rate reads only what counts: part of C5.

`state = state._replace(step=state.step + 1, best=min(state.best, loss))` goes on from its last value, and a rate made of
`state.step` is told the steps of all ranks where it reads them."""

from __future__ import annotations

import ast

from horovodize.facts.counting import record_tuples
from horovodize.facts.counting.records import Replaced, renewed, replaced, text_of
from horovodize.rules.drafting.draft import Draft

_LIMIT = 400


def only_counts(draft: Draft, number: ast.expr, place: ast.AST, value: ast.expr) -> bool:
    """Whether what a number reads of a record goes on by nothing but the steps that it counts. `value`: what replaces the
    record at a place."""
    if isinstance(place, ast.Assign) and isinstance(place.value, ast.BinOp):
        value = place.value  # `state = state | {"step": …}`, which adds to it, too
    origins = draft.values.origins(value)
    found = [_replaced(draft, o.node) for o in origins if not o.path]
    records = [r for r in found if r is not None]
    if len(records) < len(origins):
        return False
    made_of = list(draft.values.depends([number], _LIMIT))
    whole = [r.made for n in made_of if (r := _replaced(draft, n)) is not None]
    read = [n for n in made_of if _field(n) and not any(draft.syntax.inside(n, made) for made in whole)]
    counters = draft.facts.counters
    moving = [n for n in read for r in records if isinstance(n, ast.expr) and _goes_on(r, _field(n))]
    return bool(read) and all(counters.of(n) is not None for n in moving)


def _replaced(draft: Draft, n: ast.AST) -> Replaced | None:
    made_again = (
        renewed(draft.module, n) if isinstance(n, ast.Call) else record_tuples.carried_on(draft.module, n)
    )
    return replaced(draft.module, n) or made_again


def _goes_on(record: Replaced, field: str) -> bool:
    """Whether a field is set to something that is made of its last value."""
    return field in record.fields and any(_field(n) == field for n in ast.walk(record.fields[field]))


def _field(n: ast.AST) -> str:
    if isinstance(n, ast.Subscript):
        at = n.slice.value if isinstance(n.slice, ast.Constant) else None
        return record_tuples.place(at) if isinstance(at, int) else text_of(n.slice)
    return n.attr if isinstance(n, ast.Attribute) else ""


__all__ = ["only_counts"]
