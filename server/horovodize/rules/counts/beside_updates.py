"""Files that are written beside what goes with updates: part of G5.

`if step % 16 == 0: loss += penalty; save()` keeps its number, since as many updates in a hundred are to have the penalty as
before; but what is saved there comes after size() times as many rows. One test can't be right for both, so that is said."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import outputs_of

_SELDOM = (
    "the number of this test stays, as it goes with the training itself; what is written in line {} under it then comes after "
    "size() times as many rows: give it a test of its own, by `{} // hvd.size()`"
)


def tell(draft: Draft, test: ast.expr, every: ast.expr) -> None:
    """Says which file is written under a test whose number, `every`, stays."""
    decision = draft.syntax.statement(test)
    if not isinstance(decision, ast.If) or not draft.syntax.inside(test, decision.test):
        return
    written = next((call for s in decision.body for call in _written(draft, s)), None)
    if written is not None and draft.once("beside updates", decision):
        draft.note("G5", test, _SELDOM.format(written.lineno, draft.module.text(every)))


def _written(draft: Draft, statement: ast.stmt) -> list[ast.Call]:
    """The calls that write files in a statement itself, and not every so many times by a test of their own."""
    calls = outputs_of(draft).effects.output_calls
    found = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
    outputs = [(call, calls.of(call)) for call in found]
    return [
        call
        for call, output in outputs
        if output is not None and output.kind == "write" and not _is_tested(call, statement)
    ]


def _is_tested(call: ast.Call, statement: ast.stmt) -> bool:
    within = (n for n in ast.walk(statement) if isinstance(n, ast.If))
    return any(call in ast.walk(s) for n in within for s in (*n.body, *n.orelse))


__all__ = ["tell"]
