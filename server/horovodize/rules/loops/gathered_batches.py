"""Loops over batches that a loop which is divided has gathered, `if loss > 1: hard.append(batch)`: part of G4.

They are a rank's own rows already, and are not dealt out once more. Where each rank gathers another number of them, by what it
computes, all ranks leave the loop together."""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.python.syntax import LOOPS
from horovodize.rules.deciding.reached_together import is_come_to_together
from horovodize.rules.drafting.decisions import Shared, Unit
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.source import Edit
from horovodize.summary.feeding import Driver, Kind
from horovodize.summary.gathered_in_turns import additions

_WHAT = "Take equally many batches on all ranks"
_WHY = "Ranks that take different numbers of steps wait for each other forever."
_OTHER_NUMBER = (
    "each rank gathers another number of these, by values of its own, and ranks would wait for each other forever; take a "
    "fixed number of steps"
)
_UNTIL_ONE_ENDS = (
    "each rank gathers these by values of its own, and another number of them: now all of them stop where one has none "
    "left"
)

SELDOM = (
    "this comes once in {} batches of a rank, which an epoch may no longer have on many ranks: then nothing is trained; make "
    "the number smaller there"
)


def leave(draft: Draft, driver: Driver, batches: ast.expr) -> bool:
    """Leaves such batches to their rank; whether they are such. Refuses where ranks would wait for each other."""
    varies = any(isinstance(r, Varies) for r in draft.uniform.number_reasons(batches))
    if not _is_gathered(draft, driver, batches, varies):
        return False
    if not draft.decide(batches, Shared(draft.loop_rule, Unit.STEPS)) or not varies:
        return True
    if draft.in_graph or not is_come_to_together(draft, driver.loop):
        draft.refuse("HVD205", batches, _OTHER_NUMBER)
    else:
        edits = Edit.around(draft.module.span(batches), f"{draft.helper('together')}(", ")")
        draft.change(draft.loop_rule, batches, _WHAT, _WHY, edits, _UNTIL_ONE_ENDS)
    return True


def tell_of_few(draft: Draft, test: ast.expr, held: ast.expr, bound: ast.expr) -> None:
    """Says where a list that begins again in each epoch may never get as many batches as training waits for."""
    branch = draft.syntax.statement(test)
    loops = (n for n in ast.walk(branch) if isinstance(n, ast.For)) if isinstance(branch, ast.If) else ()
    if not any(ast.dump(loop.iter) == ast.dump(held) for loop in loops):
        return
    adding = additions(draft.facts.feeding, held)
    for driver in (
        d for d in draft.facts.feeding.drivers if any(draft.syntax.inside(a, d.loop) for a in adding)
    ):
        begun = [
            b.statement
            for b in draft.values.bindings(held)
            if not draft.syntax.inside(b.statement, driver.loop)
        ]
        around = [a for a in draft.syntax.ancestors(driver.loop) if isinstance(a, LOOPS)]
        if counted.is_divided(draft, driver) and any(
            draft.syntax.inside(s, a) for s in begun for a in around
        ):
            draft.note("G5", test, SELDOM.format(draft.module.text(bound)))


def _is_gathered(draft: Draft, driver: Driver, batches: ast.expr, varies: bool) -> bool:
    """Whether something is a list that begins empty, and that only loops which are divided add to. varies: whether ranks add
    other numbers of items to it"""
    if not isinstance(batches, (ast.Name, ast.Attribute)):
        return False
    adding = additions(draft.facts.feeding, batches)
    others = [d for d in draft.facts.feeding.drivers if d.loop is not driver.loop]
    return bool(adding) and all(
        any(_holds_a_batch(draft, call, d, varies) and counted.is_divided(draft, d) for d in others)
        and not draft.syntax.inside(call, driver.loop)
        for call in adding
    )  # fmt: skip


def _holds_a_batch(draft: Draft, call: ast.Call, driver: Driver, varies: bool) -> bool:
    """Whether what is gathered is what a loop brings in its turn: not the number of the turn, which ranks may share. Rows that
    are selected by that number count where ranks select other numbers of them, and would wait for each other."""
    brought = [
        n for a in call.args for n in ast.walk(a) if isinstance(n, ast.Name) and _is_brought(draft, n, driver)
    ]
    if not draft.syntax.inside(call, driver.loop):
        return False
    return any(
        varies and any(isinstance(p, ast.Subscript) for p in draft.syntax.ancestors(n) if draft.syntax.inside(p, call))
        if driver.kind is Kind.RANGE or draft.facts.counters.of(n) is not None
        else True
        for n in brought
    )  # fmt: skip


def _is_brought(draft: Draft, name: ast.Name, driver: Driver) -> bool:
    return any(b.kind == "item" and b.statement is driver.loop for b in draft.module.scopes.reaching(name))


__all__ = ["leave"]
