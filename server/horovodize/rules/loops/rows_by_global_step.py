"""Rows, and weights of rows, that a program selects by the step that its graph counts: part of S5.

`step = sess.run(global_step)` is the same number on each rank, and of a rank's steps only. By `start = step * 32 % len(x)` all
ranks would train on the same rows, and those of the later steps would never be seen. Each rank takes the rows of its own one of
the steps that all ranks take together: `start = (step * hvd.size() + hvd.rank()) * 32 % len(x)`; and what goes with them,
`beta: weights[step]`. Rates are the same on all ranks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import CounterKind
from horovodize.facts.counting.turn_uses import uses_of_moved
from horovodize.plan import Decision
from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import OfAll
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import WHY, feeding
from horovodize.rules.scaling import strong
from horovodize.rules.wrapping.optimizers import rate_argument, trained_optimizers
from horovodize.source import Edit
from horovodize.source.nodes import names_set, walk
from horovodize.summary.feeding import Driver

_WHAT = "Give every rank the rows of its own one of the steps of all ranks"
_KINDS = (CounterKind.GLOBAL_STEP, CounterKind.VARIABLE)
_FAR = 400  # nodes that rows may be made of


def apply(draft: Draft) -> None:
    """Runs when rates have been told what they go by."""
    if not (draft.in_graph and draft.options.split_data and draft.divided):
        return
    rates = set(_rates(draft))
    for driver in feeding(draft).drivers:
        if counted.is_divided(draft, driver):
            given = [
                e
                for step in driver.steps
                if strong.scaling(draft, step) is strong.Scaling.WEAK
                for e in _fed(draft, step)
                if e not in rates
            ]
            _divide(draft, driver, {n for e in given for n in draft.values.depends([e], _FAR)})


def _divide(draft: Draft, driver: Driver, made_of: set[ast.AST]) -> None:
    """Lets each rank select for itself in a loop what its steps are made of."""
    body = [n for s in driver.loop.body for n in walk(s)]
    for name in sorted({n.id for n in body if isinstance(n, ast.Name) and _is_count(draft, n)}):
        moves: list[ast.stmt] = [n for n in body if isinstance(n, ast.Assign) and name in _set_by(n)]
        uses = uses_of_moved(feeding(draft), body, name, moves)
        if uses.made or uses.told or uses.mixed:
            continue  # it counts by what it selects by, too
        for use in uses.selecting:
            if use in made_of and _is_count(draft, use) and not draft.was(use, OfAll):
                draft.decide(use, OfAll("S5"))
                own = f" + {RANK}" if _is_read_in(draft, use, driver) else ""
                alone = isinstance(draft.syntax.parent[use], (ast.Call, ast.Assign, ast.Subscript))
                before, after = ("", "") if alone else ("(", ")")
                edits = Edit.around(draft.module.span(use), before, f" * {SIZE}{own}{after}")
                draft.change("S5", use, _WHAT, WHY, edits, decision=Decision.SHARED)


def _is_read_in(draft: Draft, count: ast.Name, driver: Driver) -> bool:
    """Whether a loop's turns read the count again. One that was read before it is where they begin, `start + i`: there the
    number of the turn is a rank's own."""
    return any(draft.syntax.inside(b.statement, driver.loop) for b in draft.module.scopes.reaching(count))


def _fed(draft: Draft, step: ast.Call) -> Iterator[ast.expr]:
    """What a session is fed in a step."""
    fed = argument(step, "feed_dict", 1)
    for origin in draft.values.origins(fed) if fed is not None else ():
        if isinstance(origin.node, ast.Dict):
            yield from origin.node.values


def _rates(draft: Draft) -> Iterator[ast.expr]:
    """What rates are fed."""
    for trained in trained_optimizers(draft):
        rate = rate_argument(trained.call, trained.class_name) if trained.call is not None else None
        if rate is not None:
            yield from draft.facts.counters.fetched.fed(draft.values.depends([rate], _FAR))


def _set_by(statement: ast.Assign) -> set[str]:
    return {name for target in statement.targets for name in names_set(target)}


def _is_count(draft: Draft, n: ast.Name) -> bool:
    """Whether a name is read that is the number of a rank's steps, as its graph counts them."""
    counter = counted.of(draft, n) if isinstance(n.ctx, ast.Load) else None
    return counter is not None and counter.kind in _KINDS


__all__ = ["apply"]
