"""Numbers that steps are compared with, and that a program makes of the steps so far: part of G5.

`marks["save"] = step + 500`, `heapq.heappush(agenda, (step + 500, save))`, `period = step * 2`: what is compared is then of a
rank's own steps, and 500 of those of one process. Of a name that is set to `step + 500` alone, 500 is divided (`thresholds`);
what a table, a queue or another formula holds is asked about. What is made of an earlier mark, `mark + 500`, is of the same
steps as that."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import arguments, is_one
from horovodize.rules.counts import thresholds, unseen_counts
from horovodize.rules.drafting.decisions import Asked
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.source.nodes import walk

_MADE = (
    "a rank takes size() times fewer steps, and the number that they are compared with is made of them and of numbers for one "
    "process: make it of the steps of all ranks, `{} * hvd.size()`, and compare it with these"
)
_METHODS = ("append", "appendleft", "insert", "extend", "extendleft", "add", "update", "setdefault", "put")
_FUNCTIONS = ("heapq.heappush", "heapq.heapreplace", "heapq.heappushpop", "bisect.insort")


def ask(draft: Draft, test: ast.expr, bound: ast.expr) -> bool:
    """Asks about a test of steps whose bound is made of them. Whether it is."""
    read = next((r for value in _given(draft, bound) for r in _made_of(draft, value)), None)
    if read is None or unseen_counts.only_shows(draft, test):
        return False
    draft.decide(test, Asked("G5"))
    draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _MADE.format(draft.module.text(read)))
    return True


def _given(draft: Draft, bound: ast.expr) -> Iterator[ast.expr]:
    """What a bound is set to in a loop: a name, or what holds it among others."""
    held = bound
    while isinstance(held, ast.Subscript):
        held = held.value
    if isinstance(bound, (ast.Name, ast.Attribute)):
        given = (b.value for b in draft.values.bindings(bound) if b.kind == "assign" and not b.path)
    elif isinstance(bound, ast.Subscript) and isinstance(held, (ast.Name, ast.Attribute)):
        given = (value for value in _put_into(draft, ast.unparse(held)))
    else:
        return
    yield from (value for value in given if value is not None and draft.syntax.loops(value))


def _put_into(draft: Draft, held: str) -> Iterator[ast.expr | None]:
    """What is put into a table or a queue, by the text of it."""
    for s in draft.syntax.every(ast.Assign):
        if any(isinstance(t, ast.Subscript) and ast.unparse(t.value) == held for t in s.targets):
            yield s.value
    for call in draft.sites.method_calls(*_METHODS):
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == held:
            yield from arguments(call)
    for call in draft.module.calls_of(*_FUNCTIONS):
        if call.args and ast.unparse(call.args[0]) == held:
            yield from call.args[1:]


def _made_of(draft: Draft, value: ast.expr) -> Iterator[ast.expr]:
    """The count that a value is made of, by more than one more: nothing of the count itself, `(step, loss)`."""
    if isinstance(value, (ast.Tuple, ast.List)):
        for part in value.elts:
            yield from _made_of(draft, part)
        return
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)) and is_one(value.right):
        value = value.left
    if counted.of(draft, value) is None:
        reads = (n for n in walk(value) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)))
        yield from (n for n in reads if counted.of(draft, n) is not None)


__all__ = ["ask"]
