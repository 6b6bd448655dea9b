"""Tests that read a count of steps in a way that no rule follows: part of G5.

`if step // 40 != (step - 1) // 40:` comes by a count of which each rank has size() times fewer. It can't be divided as it
stands, and left alone it would come that much more seldom: that is asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules.counts import thresholds
from horovodize.rules.drafting.decisions import Asked, Decided, Strided
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.numbers import counted
from horovodize.rules.sums import own_means
from horovodize.source.nodes import walk

_ASKED = (
    "a rank takes size() times fewer steps, and this test reads their number in a way that isn't followed: let it read those "
    "of all ranks, `{} * hvd.size()`, unless it is of a rank's own steps"
)

_SAYING = frozenset(
    {"is_integer", "endswith", "startswith", "isdigit"}
)  # methods that say yes or no of a number or its text


def ask(draft: Draft, test: ast.expr, seen: bool = True) -> None:
    """Asks about a test of a rank's steps that decides more than what is printed. seen: whether names and numbers that are
    compared as they are have been looked at"""
    if not draft.facts.counters.exist or (seen and _is_plain(test)):
        return
    counts = (e for e, _ in draft.facts.counters.reads(test) if _is_own_count(draft, e))
    read: ast.expr | None = next((e for e in counts if not own_means.divides(draft, e)), None)
    if read is None:
        read = next((n for n in walk(test) if isinstance(n, ast.expr) and _may_count(draft, n)), None)
    if read is None or only_shows(draft, test) or any(draft.was(n, Decided) for n in ast.walk(test)):
        return  # or a part of it is divided already: `while step * 32 < rows // hvd.size():`
    draft.decide(test, Asked("G5"))
    draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _ASKED.format(draft.module.text(read)))


def ask_of_methods(draft: Draft, test: ast.expr) -> Iterator[ast.Call]:
    """The same of what a method says of a number that is made of a count: `(i / 100).is_integer()`, `str(i).endswith("00")`.
    Gives each such call once it has been looked at."""
    for part in walk(test):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if part.func.attr in _SAYING and not any(
                isinstance(n, ast.Compare) for n in walk(part.func.value)
            ):
                ask(draft, part, seen=False)
                yield part


def _is_plain(test: ast.expr) -> bool:
    """Whether a test compares names and numbers as they are: of those each has been looked at."""
    if not isinstance(test, ast.Compare) or isinstance(test.ops[0], (ast.In, ast.NotIn)):
        return False
    sides = (test.left, *test.comparators)
    return all(isinstance(side, (ast.Name, ast.Attribute, ast.Constant)) for side in sides)


def _is_own_count(draft: Draft, e: ast.expr) -> bool:
    is_dealt = isinstance(e, ast.Name) and draft.facts.dealt.is_own(e)
    return not is_dealt and counted.of(draft, e) is not None


def _may_count(draft: Draft, field: ast.expr) -> bool:
    """Whether a field holds the number of a turn that takes training steps, or a function is handed one, and at other times
    something else."""
    if not isinstance(field, (ast.Attribute, ast.Name)) or draft.facts.counters.of(field) is not None:
        return False
    if isinstance(field, ast.Name):
        bound = draft.module.scopes.reaching(field)
        given = [e for b in bound if b.kind == "parameter" for e in draft.values.passed(b)]
        return any(counted.of(draft, e) is not None for e in given)
    turns = [b for b in draft.values.attribute_bindings(field) if b.kind == "item" and not b.path]
    return any(
        d.loop is b.statement and (draft.was(d.loop, Strided) or counted.is_divided(draft, d))
        for b in turns
        for d in draft.facts.feeding.drivers
    )


def only_shows(draft: Draft, test: ast.expr) -> bool:
    """Whether nothing but what is printed hangs on a test."""
    statement = draft.syntax.statement(test)
    decided = [*statement.body, *statement.orelse] if isinstance(statement, ast.If) else [statement]
    return all(_speaks(draft, s) for s in decided)


def is_shown(draft: Draft, read: ast.expr) -> bool:
    """Whether a value is read to be printed, and for nothing else: of what ranks print, rank 0's is seen."""
    return _speaks(draft, draft.syntax.statement(read))


def _speaks(draft: Draft, statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and outputs_of(draft).effects.output_calls.speaks(call)
