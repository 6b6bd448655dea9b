"""Steps counted from one that the program names, in the test of an event: `(step - START) % EVERY == 0`. Part of G5.

`START` is a number of one process's steps, as `EVERY` is. Where the period is divided, so is it; where the steps of all ranks
are counted, they are counted from it: `(step * hvd.size() - START) % EVERY < hvd.size()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import counted, guarded
from horovodize.source import Edit


@dataclass(frozen=True)
class Offset:
    """`step` and `START` of `step - START`."""

    step: ast.expr
    start: ast.expr


def counted_from(draft: Draft, number: ast.expr) -> Offset | None:
    """The count of a rank's steps that a number goes by, and the step that it is counted from, one of one process; None for
    anything else, also for `step - 1`, which is a count of steps itself."""
    if not isinstance(number, ast.BinOp) or not isinstance(number.op, ast.Sub):
        return None
    step, start = number.left, number.right
    if counted.of(draft, step) is None or not counted.is_whole(draft, start):
        return None
    known = draft.facts.feeding.kinds.constant(start)
    if known is None and not _is_setting(draft, start):
        return None
    return Offset(step, start) if known is None or known > guarded.FEW else None


def _is_setting(draft: Draft, start: ast.expr) -> bool:
    """Whether a number is given once, and the same throughout: nothing in a loop sets it."""
    if not isinstance(start, (ast.Name, ast.Attribute)):
        return False
    bound = draft.values.bindings(start)
    return bool(bound) and all(
        b.kind in ("assign", "parameter") and not draft.syntax.loops(b.statement) for b in bound
    )


def divide(draft: Draft, offset: Offset) -> Iterator[Edit]:
    """`step - START` → `step - START // hvd.size()`"""
    if draft.decide(offset.start, Divided("G5")):
        opening, closing = ("(", ")") if needs_parentheses(offset.start) else ("", "")
        yield from Edit.around(draft.module.span(offset.start), opening, f"{closing} // {SIZE}")


__all__ = ["Offset", "counted_from", "divide"]
