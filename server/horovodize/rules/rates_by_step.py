"""Rates that a program sets anew by the number of a batch or step that it counts itself: part of C5.

With the data split each rank takes size() times fewer steps: what is to be reached after so many of them is reached later, or
never. What such a number means can't be told, so it is said.
"""

from __future__ import annotations

import ast

from horovodize.rules.callback_decisions import BASE, BATCH
from horovodize.rules.draft import Draft
from horovodize.rules.shares import feeding
from horovodize.summary.feeding import Driver
from horovodize.summary.syntax import FUNCTIONS

_SAID = "this rate goes by a count of steps of one process; with the data split, each rank takes size() times fewer"


def report(draft: Draft, setting: ast.AST, rate: ast.expr) -> None:
    """Says of a place that sets a rate, if it does so by a count of steps, that this count is a rank's."""
    if not (draft.options.split_data and draft.divided):
        return
    if _by_batches(draft, setting) or any(
        _by_turns(draft, driver, setting, rate) for driver in feeding(draft).drivers
    ):
        draft.note("C5", rate, _SAID)


def _by_batches(draft: Draft, setting: ast.AST) -> bool:
    """Whether a callback sets a rate with every batch."""
    method = draft.syntax.function(setting)
    cls = draft.syntax.method_class(method)
    if cls is None or not isinstance(method, FUNCTIONS):
        return False
    return method.name in BATCH and BASE in draft.values.ancestors(cls)


def _by_turns(draft: Draft, driver: Driver, setting: ast.AST, rate: ast.expr) -> bool:
    """Whether a rate that is set in a loop over batches is made from the number of its turn, or from another counter."""
    loop = driver.loop
    if not draft.syntax.inside(setting, loop):
        return False
    counted = {
        n.target.id
        for s in loop.body
        for n in ast.walk(s)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and isinstance(n.op, ast.Add)
    }
    if not isinstance(loop, ast.While):
        counted |= {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    return any(
        (isinstance(n, ast.Name) and n.id in counted)
        or (isinstance(n, ast.Attribute) and n.attr == "iterations")
        for n in draft.values.depends([rate], 400)
    )
