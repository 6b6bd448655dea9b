"""Numbers that each rank measures by its own rows, and decides by: all ranks decide by their mean. Part of G4, S5 and G2.

`mean = np.mean(losses)` at the end of an epoch, and `if mean < best:` after it: one process measures all rows, each rank only
its own. `mean = mean_over_ranks(np.mean(losses))` is what one process would have measured, and the same on all ranks, so that
what is counted and kept by it is, too. What is added up in a loop, `total += loss`, is averaged after that."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.over_rows import Over
from horovodize.python.binding import Binding
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import CORE, Draft
from horovodize.rules.sums.averaged_parts import averaged_parts
from horovodize.rules.together.any_rank_test import differing
from horovodize.rules.together.number_parts import leaves
from horovodize.rules.together.own_measures import (
    Measured,
    Total,
    can_be_averaged,
    measured_in,
    over_shares,
    place,
)
from horovodize.source import Edit

_WHAT = "Decide by the mean over all ranks"
_WHY = "Each rank measures its own rows; the mean is what one process would have measured, and the same on all ranks."

_OF_ALL = (
    "the loss of these steps is a sum over rows, so this is added up over the ranks: right for that sum; let a mean, as an "
    "accuracy is, be `mean_over_ranks(…)` alone"
)


def decide_alike(draft: Draft, test: ast.expr, *, number: bool = False) -> bool:
    """Averages what ranks decide a test by, where each sets it by its own rows once an epoch or so, or every so many steps;
    whether the test is the same on all ranks then. What is set in each step is left: ranks would have to wait for each other
    there.

    number: it is a number, that something else decides by"""
    if keras_session.is_wanted(draft):
        return False  # there a collective of numbers is an operation of Keras' graph
    found = measured_in(draft, test, set(), number=number)
    if not found or not all(can_be_averaged(draft, m, test) for m in found):
        return False
    return average_each(draft, test, found)


def average_each(draft: Draft, test: ast.expr, found: Iterable[Measured]) -> bool:
    """Averages what a test goes by; whether nothing else makes it differ."""
    found = list(found)
    for m in sorted(found, key=lambda m: draft.module.span(place(m)).start):
        _average(draft, m)
    left = _not_measured(draft, test, found)
    draft.settled |= {(test, reason.where) for reason in differing(draft, test) if reason not in left}
    return not left


def _not_measured(draft: Draft, test: ast.expr, found: Iterable[Measured]) -> set[Varies]:
    """The files that a test goes by and nothing does that is measured: the best loss of an earlier run, say. No mean of what
    ranks measure now makes that the same."""
    measured = {r for m in found for e in _measuring(m) for r in draft.uniform.reasons(e)}
    files = {r for r in differing(draft, test) if isinstance(r, Varies) and r.kind is Source.FILES}
    return files - measured


def _measuring(m: Measured) -> list[ast.AST]:
    if isinstance(m, Binding):
        return [m.value] if m.value is not None else []
    return [m.loop] if isinstance(m, Total) else [m]


def average(
    draft: Draft, b: Binding, rule: str, what: str, why: str, doubt: str = "", times: str = ""
) -> bool:
    """`x = f()` → `x = mean_over_ranks(f())`, once; False where no statement can be put there. `times`: what makes more of it,
    as text behind."""
    statement = b.statement
    if not isinstance(statement, ast.stmt) or b.value is None:
        return False
    if b.path and not draft.can_put_after(statement):
        return False
    if draft.once("averaged", b.anchor):
        mean = _helper(draft)
        if b.path:
            name = draft.module.text(b.anchor)
            edits = draft.put_after(statement, [f"{name} = {mean}({name}){times}"])
        else:
            edits = _around(draft, b.value, times, is_all=True)
        draft.change(rule, statement, what, why, edits, doubt)
    return True


def numbers_in(draft: Draft, test: ast.expr) -> list[ast.expr]:
    """What a test computes with, in a number each: nothing where some of it isn't seen to be one."""
    found = leaves(draft, test, number=False)
    return [leaf for leaf, _ in found] if all(is_number for _, is_number in found) else []


def average_read(draft: Draft, e: ast.expr) -> None:
    """`e` → `mean_over_ranks(e)` where it is read, once."""
    _average(draft, e)


def _average(draft: Draft, measured: Measured) -> None:
    rule, mean = draft.loop_rule, _helper(draft)
    is_sum = over_shares(draft, place(measured)) is Over.SUM  # of which each rank has that over its share
    times, doubt = (f" * {CORE}.size()", _OF_ALL) if is_sum else ("", "")
    if isinstance(measured, Binding):
        average(draft, measured, rule, _WHAT, _WHY, doubt, times)
    elif isinstance(measured, Total):
        if draft.once(f"averaged {measured.name}", measured.loop):
            line = f"{measured.name} = {mean}({measured.name}){times}"
            draft.change(rule, measured.loop, _WHAT, _WHY, draft.put_after(measured.loop, [line]), doubt)
    elif draft.once("averaged", measured):
        draft.change(rule, measured, _WHAT, _WHY, _around(draft, measured, times), doubt)


def _around(draft: Draft, measured: ast.expr, times: str, *, is_all: bool = False) -> list[Edit]:
    """`is_all`: that nothing else stands around it"""
    parts = averaged_parts(draft, measured)
    enclosed = bool(times) and not (is_all and parts == [measured])
    opening, closing = ("(", f"){times})") if enclosed else ("", f"){times}")
    return [
        edit
        for part in parts
        for edit in Edit.around(draft.module.span(part), f"{opening}{_helper(draft)}(", closing)
    ]


def _helper(draft: Draft) -> str:
    if draft.in_sessions:
        draft.session_config(draft.sites.any_v1)
    return draft.helper("mean_over_ranks")
