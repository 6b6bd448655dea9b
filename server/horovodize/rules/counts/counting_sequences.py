"""Sequences of a program's own that count the batches they are asked for: part of G5.

    class Stranger(tf.keras.utils.Sequence):
        def __getitem__(self, index):
            self.step += 1
            strength = min(1.0, self.step / 1000)

A rank asks its own for every size()-th batch only, so the count is that of a rank: what rows are changed by is told the batches
of all ranks. (Tests of such a count are those of any other: `events`, `thresholds`.)

A sequence that doesn't look at the number of the batch, and draws nothing, gives the same rows on all ranks: asked about.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import decays
from horovodize.rules.numbers.shares import WHY, feeding, is_touched
from horovodize.rules.rows.drawing_sequences import calls, looks_at_number
from horovodize.summary.feeding import Kind

_WHAT = "Give every rank its own batches of the sequence"
_SAME_ROWS = (
    "`__getitem__` doesn't look at its index: unless it draws at random, every rank gets the same rows; "
    "select them by the index"
)


def apply(draft: Draft, tell: Callable[[Draft, ast.expr], None]) -> None:
    """`tell`: tells the formulas in a value the steps of all ranks."""
    if draft.in_graph or not draft.divided:
        return
    for method in _asked(draft):
        for value in (*draft.values.returned(method), *_chances(draft, method)):
            tell(draft, value)
            decays.follow(draft, value, rule="G5")
    _ask_of_same_rows(draft)


def _asked(draft: Draft) -> list[Function]:
    known = draft.facts.occasions.asked_sequences
    return list(dict.fromkeys((*known.methods, *known.by_loops)))


def chances(draft: Draft) -> Iterator[ast.expr]:
    """What draws are compared with for each batch: `if np.random.rand() < self.step / 1000:`."""
    for method in _asked(draft) if not draft.in_graph and draft.divided else ():
        yield from _chances(draft, method)


def _chances(draft: Draft, method: Function) -> Iterator[ast.expr]:
    for test in _run_with(draft, method):
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            sides = (test.left, test.comparators[0])
            drawn = [isinstance(e, ast.Call) and draft.uniform.draws.draws(e) for e in sides]
            yield from (e for e, other in zip(sides, reversed(drawn), strict=True) if other)


def _run_with(draft: Draft, method: Function) -> Iterator[ast.AST]:
    """What stands in a method and in the functions that it calls."""
    todo: list[ast.AST] = [method]
    for function in todo:  # grows
        for n in ast.walk(function):
            yield n
            callee = draft.values.callee(n) if isinstance(n, ast.Call) else None
            if isinstance(callee, CALLABLES) and callee not in todo:
                todo.append(callee)


def _ask_of_same_rows(draft: Draft) -> None:
    for fed in feeding(draft).fits:
        if fed.x is None or fed.kind is not Kind.SEQUENCE or not is_touched(draft, fed.x):
            continue
        for made in draft.values.calls(fed.x):
            cls = draft.values.callee(made)
            body = cls.body if isinstance(cls, ast.ClassDef) else []
            methods = [s for s in body if isinstance(s, FUNCTIONS) and s.name == "__getitem__"]
            if not methods or any(map(looks_at_number, methods)):
                continue
            if not any(draft.uniform.draws.draws(c) for c in calls(draft, fed.x)):
                if draft.once("same rows", methods[0]):
                    draft.ask("K4", methods[0], _WHAT, WHY, _SAME_ROWS)


__all__ = ["apply"]
