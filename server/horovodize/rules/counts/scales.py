"""Events by what goes with the steps, the rows that were seen, say (`rows = (i + 1) * 32`): part of G5.

Divided, the number of rows has to stay one that the count comes to: `rows % 3200 == 0` →
`rows % (max(1, 3200 // 32 // hvd.size()) * 32) == 0`."""

from __future__ import annotations

import ast
from math import gcd

from horovodize.rules.counts.unseen_counts import only_shows
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import counted

_MULTIPLE = "this is right if `{}` is a multiple of `{}`, by which `{}` goes on in each turn"


def goes_on(draft: Draft, number: ast.expr) -> str:
    """By how much a number that is read in a test goes on with each of a rank's steps, as text: "32", "2 * batch"."""
    scaled = counted.scaled(draft, number)
    if scaled is None:
        adds = isinstance(number, ast.BinOp) and isinstance(number.op, (ast.Add, ast.Sub))
        scaled = counted.scaled(draft, number.left) if adds and isinstance(number, ast.BinOp) else None
    if scaled is None or scaled.unit is None:
        return str(scaled.by) if scaled is not None else "1"
    unit = draft.module.text(scaled.unit)
    return unit if scaled.by == 1 else f"{scaled.by} * {unit}"


def over_ranks(draft: Draft, test: ast.expr, number: ast.expr, bound: ast.expr) -> tuple[str, str] | None:
    """(a rank's share of a bound that such a number is compared with, what is doubtful about that); None where it can't be
    written, or the number never comes to it."""
    scaled = counted.scaled(draft, number)
    if scaled is None:
        return None
    by, known = goes_on(draft, number), draft.facts.feeding.kinds.constant(bound)
    if scaled.unit is None and known is not None:
        turns = f"{known} // {by}" if known % scaled.by == 0 else str(known // gcd(known, scaled.by))
        return f"max(1, {turns} // {SIZE}) * {by}", ""
    unit = scaled.unit
    if isinstance(unit, ast.Name):
        scopes = draft.module.scopes
        if scopes.lookup(unit.id, test) is not scopes.lookup(unit.id, unit):
            return None
    elif unit is not None and draft.syntax.function(unit) is not draft.syntax.function(test):
        return None
    text = draft.module.text(bound)
    doubt = _MULTIPLE.format(text, by, draft.module.text(number)) if not only_shows(draft, test) else ""
    text = f"({text})" if needs_parentheses(bound) else text
    each = f"({by})" if " " in by else by
    return f"max(1, {text} // {each} // {SIZE}) * {by}", doubt


__all__ = ["goes_on", "over_ranks"]
