"""How long a progress bar gets: that of a rank's steps, where it goes on with them. Part of C7.

    for x, y in tqdm(dataset, total=steps):                     for x, y in tqdm(dataset, total=steps // hvd.size()):
        step(x, y)                                                  step(x, y)

Rank 0 takes 1/size() of the steps: its bar would end there, and tell size() times the time that is left."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers.counted import is_divided
from horovodize.rules.numbers.shares import counts_a_share, feeding, is_touched
from horovodize.source import Edit
from horovodize.summary.feeding import Driver


def of_a_rank(draft: Draft, bar: ast.Call) -> Sequence[Edit]:
    """What divides the `total` of a bar that goes on with the divided steps of a loop; nothing for another."""
    total = argument(bar, "total")
    if total is None or not draft.options.split_data or not draft.divided or _is_of_a_rank(draft, total):
        return ()
    drivers = _around(draft, bar) or _moving(draft, bar)
    if not drivers or not all(is_divided(draft, driver) for driver in drivers):
        return ()
    if not draft.decide(total, Divided("C7")):
        return ()
    opened, closed = ("(", ")") if needs_parentheses(total) else ("", "")
    return Edit.around(draft.module.span(total), opened, f"{closed} // {SIZE}")


def _is_of_a_rank(draft: Draft, total: ast.expr) -> bool:
    """Whether a number counts a rank's steps already."""
    return counts_a_share(draft, total) or any(
        is_touched(draft, n) for n in draft.values.depends([total], 100)
    )


def _around(draft: Draft, bar: ast.Call) -> list[Driver]:
    """The loop that takes its steps through a bar: `for x in tqdm(data, total=n):`"""
    loops = [(d, d.loop) for d in feeding(draft).drivers]
    return [
        d
        for d, loop in loops
        if isinstance(loop, (ast.For, ast.AsyncFor)) and draft.syntax.inside(bar, loop.iter)
    ]


def _moving(draft: Draft, bar: ast.Call) -> list[Driver]:
    """The loops in whose steps a bar is moved on, `bar.update(1)`; none if it's moved on elsewhere, too."""
    moves = [
        call
        for call in draft.module.calls_called("update")
        if isinstance(call.func, ast.Attribute)
        and any(o.node is bar for o in draft.values.origins(call.func.value))
    ]
    found = []
    for move in moves:
        loops = draft.syntax.loops(move)
        driver = next((d for d in feeding(draft).drivers if loops and d.loop is loops[0]), None)
        if driver is None:
            return []
        found.append(driver)
    return found
