"""Events that may come several times in one step, and make something of its last value each time: part of G5.

`if step % 3 == 0: rate *= 0.9` comes four times in three steps of 4 ranks, `if next(due):` as often as the decisions of size()
steps say. So what hangs on it is done once for each: `for _ in range(step * hvd.size() // 3 - (step - 1) * hvd.size() // 3):`.
Only where the number of steps is written and few (`FEW`), or an iterator tells it. Of somewhat more (`SOME`) it is said that
the event comes once at most; still more are more than there are ranks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import CALLABLES, LOOPS
from horovodize.rules.drafting.decisions import ByRank
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.source import Edit, Span

FEW = 8
SOME = 64
ONCE = (
    "this comes at most once with each step, and goes on from its last value: on more than {} ranks it would have to come more "
    "often"
)
SOONER = (
    "this goes on from its last value each time, and comes a little more often than alone where the number of ranks does not "
    "divide {}"
)
_JUMPS = (ast.Return, ast.Yield, ast.YieldFrom)


def repeatable(draft: Draft, test: ast.expr, *, negated: bool = False) -> ast.If | None:
    """The `if` that nothing but a test (negated: its `not`) decides about, and whose body can be run several times."""
    whole = draft.syntax.parent[test] if negated else test
    if negated and not (isinstance(whole, ast.UnaryOp) and isinstance(whole.op, ast.Not)):
        return None
    decision = draft.syntax.parent[whole]
    if not isinstance(decision, ast.If) or decision.test is not whole or decision.orelse:
        return None
    if draft.module.loads.get("_") or draft.drive.in_traced(decision):
        return None  # the loop's own name is read elsewhere; or a graph is built of it
    if draft.was(decision, ByRank) or _in_parentheses(draft, whole, decision):
        return None  # the rank is asked for in its test, or parentheses would stay
    is_elif = not draft.module.text(decision).startswith("if")
    return None if is_elif or any(_leaves(s) for s in decision.body) else decision


def _in_parentheses(draft: Draft, test: ast.expr, decision: ast.If) -> bool:
    """`if (step % 3 == 0):`, of which the parentheses would stay."""
    before = draft.document.text[draft.module.span(decision).start : draft.module.span(test).start]
    return before.rstrip().endswith("(")


def _leaves(statement: ast.AST, in_loop: bool = False) -> bool:
    """Whether a statement leaves the body that it stands in."""
    if isinstance(statement, (*CALLABLES, ast.ClassDef)):
        return False
    if isinstance(statement, _JUMPS) or (isinstance(statement, (ast.Break, ast.Continue)) and not in_loop):
        return True
    inside = in_loop or isinstance(statement, LOOPS)
    return any(_leaves(child, inside) for child in ast.iter_child_nodes(statement))


def times(draft: Draft, decision: ast.If, number: ast.expr, ahead: int, every: str, goes_on: str) -> Edit:
    """`if step % 3 == 0` → `for _ in range(step * hvd.size() // 3 - (step - 1) * hvd.size() // 3)`

    number:  `step`, a rank's own
    ahead:   what has to be added to it, so that it is a multiple of `every` at the event
    every:   `3`, as text
    goes_on: by how much `step` goes on in a turn, as text"""
    text = draft.module.text(number)
    text = f"({text})" if needs_parentheses(number) else text
    now = _more(text, ahead)
    before = _more(text, ahead - 1) if goes_on == "1" else f"({now} - {goes_on})"
    count = f"{now} * {SIZE} // {every} - {before} * {SIZE} // {every}"
    return Edit(
        Span(draft.module.span(decision).start, draft.module.span(decision.test).end),
        f"for _ in range({count})",
    )


def _more(text: str, by: int) -> str:
    return f"({text} {'+' if by > 0 else '-'} {abs(by)})" if by else text


def each(draft: Draft, decision: ast.If) -> Iterator[Edit]:
    """`if next(due)` → `for _ in range(sum([bool(next(due)) for _ in range(hvd.size())]))`"""
    span = draft.module.span(decision.test)
    start = draft.module.span(decision).start
    yield Edit(Span(start, span.start), "for _ in range(sum([bool(")
    yield Edit.insert(span.end, f") for _ in range({SIZE})]))", span)


def comes_sooner(known: int | None) -> bool:
    """Whether the steps between two events are so few that a share of them, rounded down, is another rate of events."""
    return known is not None and known > 1 and known // 8 * 8 < 0.98 * known
